#include "serve/grpc/health.h"

#include <algorithm>

#include "wire/grpc/protobuf.h"

namespace weir::grpc {
namespace {

using protobuf::Field;
using protobuf::Reader;
using protobuf::Writer;

// HealthCheckRequest { 1 service }; HealthCheckResponse { 1 status }
enum ServingStatus : std::uint64_t { kServing = 1, kServiceUnknown = 3 };

std::optional<std::string_view> read_service(std::string_view message) {
  Reader reader(message);
  std::string_view service;
  for (Field field; reader.next(field);) {
    if (field.is_bytes(1)) service = field.bytes;
  }
  if (reader.failed()) return std::nullopt;
  return service;
}

std::string health_response(ServingStatus status) {
  std::string out;
  Writer(out).number(1, status);
  return out;
}

bool knows(const std::vector<std::string>& services, std::string_view service) {
  return service.empty() || std::find(services.begin(), services.end(), service) != services.end();
}

// ServerReflectionRequest { 1 host, 3..6 what is asked, 7 list_services }
struct ReflectionRequest {
  std::string_view host;
  std::uint32_t asked = 0;
};

std::optional<ReflectionRequest> read_reflection(std::string_view message) {
  Reader reader(message);
  ReflectionRequest request;
  for (Field field; reader.next(field);) {
    if (field.is_bytes(1)) request.host = field.bytes;
    if (field.number >= 3 && field.number <= 7) request.asked = field.number;
  }
  if (reader.failed()) return std::nullopt;
  return request;
}

// ServerReflectionResponse { 1 valid_host, 2 original_request,
//                            6 list_services_response { 1 service* { 1 name } },
//                            7 error_response { 1 error_code, 2 error_message } }
std::string reflection_response(const ReflectionRequest& request, std::string_view original,
                                const std::vector<std::string>& services) {
  constexpr std::uint32_t kListServices = 7;
  std::string out;
  Writer writer(out);
  writer.text(1, request.host);
  writer.text(2, original);
  if (request.asked == kListServices) {
    const std::size_t list = writer.open(6);
    for (const std::string& service : services) {
      const std::size_t one = writer.open(1);
      writer.text(1, service);
      writer.close(one);
    }
    writer.close(list);
    return out;
  }
  const std::size_t error = writer.open(7);
  writer.number(1, static_cast<std::uint64_t>(Status::kNotFound));
  writer.text(2, "this server lists its services and carries no descriptors; use the proto files");
  writer.close(error);
  return out;
}

}  // namespace

Methods health_methods(std::vector<std::string> services) {
  const auto check = [services](std::string_view message, const Reply& reply) {
    const auto service = read_service(message);
    if (!service) return reply.end(Status::kInvalidArgument, "no HealthCheckRequest");
    if (!knows(services, *service)) return reply.end(Status::kNotFound, "unknown service");
    reply.finish(health_response(kServing));
  };
  const auto watch = [services](std::string_view message, const Reply& reply) {
    const auto service = read_service(message);
    if (!service) return reply.end(Status::kInvalidArgument, "no HealthCheckRequest");
    reply.send(health_response(knows(services, *service) ? kServing : kServiceUnknown));
  };
  return {{"/grpc.health.v1.Health/Check", Kind::kUnary, check},
          {"/grpc.health.v1.Health/Watch", Kind::kWatch, watch}};
}

Methods reflection_methods(std::vector<std::string> services) {
  const auto answer = [services](std::string_view message, const Reply& reply) {
    const auto request = read_reflection(message);
    if (!request) return reply.end(Status::kInvalidArgument, "no ServerReflectionRequest");
    reply.send(reflection_response(*request, message, services));
  };
  return {
      {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Kind::kStream, answer},
      {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Kind::kStream, answer}};
}

}  // namespace weir::grpc
