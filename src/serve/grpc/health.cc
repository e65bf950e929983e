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
  // WHY open: orchestrators' probes cannot show a token, and learn nothing but that we are alive.
  return {{"/grpc.health.v1.Health/Check", Kind::kUnary, check, true},
          {"/grpc.health.v1.Health/Watch", Kind::kWatch, watch, true}};
}

}  // namespace weir::grpc
