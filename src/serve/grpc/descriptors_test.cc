#include "serve/grpc/descriptors.h"

#include <gtest/gtest.h>

#include "wire/grpc/protobuf.h"

namespace weir::grpc {
namespace {

// The names of the files, one after the other.
std::string names(const std::vector<std::string_view>& files) {
  std::string out;
  for (const std::string_view file : files) {
    protobuf::Reader reader(file);
    for (protobuf::Field field; reader.next(field);) {
      if (field.is_bytes(1)) out.append(out.empty() ? "" : " ").append(field.bytes);
    }
  }
  return out;
}

const std::string kRls =
    "envoy/service/ratelimit/v3/rls.proto envoy/config/core/v3/base.proto "
    "envoy/extensions/common/ratelimit/v3/ratelimit.proto google/protobuf/duration.proto "
    "google/protobuf/struct.proto envoy/type/v3/ratelimit_unit.proto "
    "google/protobuf/wrappers.proto";

TEST(Descriptors, AFileComesWithAllThatItImports) {
  const Descriptors descriptors;
  EXPECT_EQ(names(descriptors.file("envoy/service/ratelimit/v3/rls.proto")), kRls);
  EXPECT_EQ(names(descriptors.file("google/protobuf/struct.proto")),
            "google/protobuf/struct.proto");
  EXPECT_TRUE(descriptors.file("rls.proto").empty());
  EXPECT_TRUE(descriptors.file("").empty());
}

TEST(Descriptors, ServicesMethodsMessagesAndEnumsAreFoundInTheirFile) {
  const Descriptors descriptors;
  for (const char* symbol : {"envoy.service.ratelimit.v3.RateLimitService",
                             "envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit",
                             "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit"}) {
    EXPECT_EQ(names(descriptors.file_of(symbol)), kRls) << symbol;
  }
  EXPECT_EQ(names(descriptors.file_of("grpc.health.v1.Health")), "grpc/health/v1/health.proto");
  EXPECT_EQ(names(descriptors.file_of("grpc.reflection.v1alpha.ServerReflection")),
            "grpc/reflection/v1alpha/reflection.proto");
  EXPECT_EQ(names(descriptors.file_of("envoy.type.v3.RateLimitUnit")),
            "envoy/type/v3/ratelimit_unit.proto");
  for (const char* symbol : {"", "RateLimitService", ".envoy.type.v3.RateLimitUnit",
                             "envoy.service.ratelimit.v3.RateLimitService.Other"}) {
    EXPECT_TRUE(descriptors.file_of(symbol).empty()) << symbol;
  }
}

}  // namespace
}  // namespace weir::grpc
