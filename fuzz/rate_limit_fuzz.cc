// Envoy's rate limit request: any bytes are read or refused, and what was read stands in them.

#include "wire/grpc/rate_limit.h"

#include "fuzz/support.h"
#include "wire/grpc/message.h"
#include "wire/grpc/protobuf.h"

namespace {

using namespace weir;

void require_inside(std::string_view part, std::string_view whole) {
  const bool inside = part.empty() || (part.data() >= whole.data() &&
                                       part.data() + part.size() <= whole.data() + whole.size());
  fuzz::require(inside, "views stand in the message");
}

// The request written as a client would; read again it must say the same.
std::string write(const rls::Request& request) {
  std::string out;
  protobuf::Writer writer(out);
  writer.text(1, request.domain);
  for (const rls::Descriptor& descriptor : request.descriptors) {
    const std::size_t at = writer.open(2);
    for (const rls::Entry& entry : descriptor.entries) {
      const std::size_t inner = writer.open(1);
      writer.text(1, entry.key);
      writer.text(2, entry.value);
      writer.close(inner);
    }
    writer.close(at);
  }
  writer.number(3, request.hits_addend);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)grpc::parse_timeout(bytes);
  const auto request = rls::read_request(bytes);
  if (!request) return 0;
  require_inside(request->domain, bytes);
  for (const auto& descriptor : request->descriptors) {
    for (const auto& entry : descriptor.entries) {
      require_inside(entry.key, bytes);
      require_inside(entry.value, bytes);
    }
  }
  const std::string again = write(*request);
  const auto same = rls::read_request(again);
  fuzz::require(same && same->domain == request->domain &&
                    same->descriptors.size() == request->descriptors.size() &&
                    same->hits_addend == request->hits_addend,
                "what was read can be written and read");
  return 0;
}
