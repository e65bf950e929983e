// Envoy's request as JSON: what is taken becomes a protobuf request that is read again.

#include "fuzz/support.h"
#include "serve/grpc/json.h"
#include "wire/grpc/rate_limit.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weir::fuzz::Block block(weir::fuzz::text(data, size));
  const auto bytes = weir::grpc::request_from_json(block.view());
  if (!bytes) {
    weir::fuzz::require(!bytes.error().message.empty(), "a refusal says why");
    return 0;
  }
  weir::fuzz::require(weir::rls::read_request(*bytes).has_value(),
                      "what was taken can be read as protobuf");
  return 0;
}
