// The request that a proxy asks about, in headers that may be anybody's: what is taken has a method
// and a path in normal form, however it is asked for.

#include "fuzz/support.h"
#include "policy/path.h"
#include "policy/policy.h"
#include "serve/api/forwarded_request.h"
#include "serve/http/message.h"
#include "weir/clock.h"
#include "wire/http1/request.h"

namespace {

using namespace weir;
using Kind = policy::Attribute::Kind;

policy::Policy make_policy(bool trusted) {
  policy::Policy made;
  if (trusted) made.identity.trusted_proxies = {*IpPrefix::parse("127.0.0.0/8")};
  return made;
}

std::string value_of(const api::ForwardedRequest& request, Kind kind, const char* name = "") {
  const auto value = request.find({kind, name});
  return value ? std::string(*value) : "";
}

void check(const api::ForwardedRequest& request, const policy::Policy& policy) {
  fuzz::require(!value_of(request, Kind::kMethod).empty(), "it has a method");
  const std::string path = value_of(request, Kind::kPath);
  policy::PathBuffer buffer;
  const auto again = policy::normalise_path(path, policy.paths, buffer);
  fuzz::require(again && again->match == path, "its path is in normal form");
  for (const auto kind : {Kind::kUser, Kind::kTier, Kind::kHost}) {
    static_cast<void>(value_of(request, kind));
  }
  for (const auto kind : {Kind::kHeader, Kind::kCookie, Kind::kQuery}) {
    fuzz::require(value_of(request, kind, "x-a") == value_of(request, kind, "x-a"),
                  "asked twice, it says the same");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const policy::Policy policies[] = {make_policy(false), make_policy(true)};
  const fuzz::Block block(fuzz::text(data, size));
  http1::RequestParser parser;
  if (parser.parse(block.view()) != http1::Progress::kComplete) return 0;
  http::Request request;
  request.method = parser.head().method;
  request.path = parser.head().path;
  request.query = parser.head().query;
  request.headers = parser.head().headers;
  request.head = &parser.head();
  request.peer = *IpAddress::parse("127.0.0.1");
  for (const policy::Policy& policy : policies) {
    for (const auto proxy : {api::Proxy::kEither, api::Proxy::kOriginal, api::Proxy::kForwarded}) {
      api::ForwardedRequest forwarded;
      const auto read = forwarded.read(request, proxy, policy, Instant{});
      if (read) {
        check(forwarded, policy);
      } else {
        fuzz::require(!read.error().message.empty(), "a refusal says why");
      }
    }
  }
  return 0;
}
