#include "serve/grpc/reflection.h"

#include <memory>
#include <optional>
#include <utility>

#include "serve/grpc/descriptors.h"
#include "wire/grpc/protobuf.h"

namespace weir::grpc {
namespace {

using protobuf::Field;
using protobuf::Reader;
using protobuf::Writer;

// ServerReflectionRequest { 1 host, 3 file_by_filename, 4 file_containing_symbol,
//                           5 and 6 about extensions, 7 list_services }
enum Asked : std::uint32_t { kNothing = 0, kFileByName = 3, kFileOfSymbol = 4, kListServices = 7 };

struct Request {
  std::string_view host;
  std::uint32_t asked = kNothing;
  std::string_view name;  // of the file or the symbol
};

std::optional<Request> read_request(std::string_view message) {
  Reader reader(message);
  Request request;
  for (Field field; reader.next(field);) {
    if (field.is_bytes(1)) request.host = field.bytes;
    if (field.number < 3 || field.number > 7) continue;
    request.asked = field.number;
    request.name = field.bytes;
  }
  if (reader.failed()) return std::nullopt;
  return request;
}

void write_services(Writer& writer, const std::vector<std::string>& services) {
  const std::size_t list = writer.open(6);
  for (const std::string& service : services) {
    const std::size_t one = writer.open(1);
    writer.text(1, service);
    writer.close(one);
  }
  writer.close(list);
}

void write_files(Writer& writer, const std::vector<std::string_view>& files) {
  const std::size_t response = writer.open(4);
  for (const std::string_view file : files) writer.text(1, file);
  writer.close(response);
}

void write_error(Writer& writer, Status status, std::string_view text) {
  const std::size_t error = writer.open(7);
  writer.number(1, static_cast<std::uint64_t>(status));
  writer.text(2, text);
  writer.close(error);
}

// ServerReflectionResponse { 1 valid_host, 2 original_request,
//                            4 file_descriptor_response { 1 file* },
//                            6 list_services_response { 1 service* { 1 name } },
//                            7 error_response { 1 error_code, 2 error_message } }
std::string answer(const Request& request, std::string_view original,
                   const std::vector<std::string>& services, const Descriptors& descriptors) {
  std::string out;
  Writer writer(out);
  writer.text(1, request.host);
  writer.text(2, original);
  if (request.asked == kListServices) {
    write_services(writer, services);
  } else if (request.asked == kFileByName || request.asked == kFileOfSymbol) {
    const auto files = request.asked == kFileByName ? descriptors.file(request.name)
                                                    : descriptors.file_of(request.name);
    files.empty() ? write_error(writer, Status::kNotFound, "there is no such file or symbol here")
                  : write_files(writer, files);
  } else {
    write_error(writer, Status::kNotFound, "there are no extensions here");
  }
  return out;
}

}  // namespace

Methods reflection_methods(std::vector<std::string> services) {
  // WHY shared: both versions' handlers are copied, and their answers are the same.
  const auto descriptors = std::make_shared<const Descriptors>();
  const auto handle = [services = std::move(services), descriptors](std::string_view message,
                                                                    const Reply& reply) {
    const auto request = read_request(message);
    if (!request) return reply.end(Status::kInvalidArgument, "no ServerReflectionRequest");
    reply.send(answer(*request, message, services, *descriptors));
  };
  return {
      {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Kind::kStream, handle},
      {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Kind::kStream, handle}};
}

}  // namespace weir::grpc
