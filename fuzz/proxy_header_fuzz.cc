// PROXY protocol headers: no prefix of a complete header is complete or wrong, what follows it
// makes no difference, and an error stays one.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/support.h"
#include "wire/proxy_protocol/header.h"

namespace {

using weir::fuzz::Block;
using weir::fuzz::require;
using weir::proxy_protocol::Header;
using weir::proxy_protocol::parse;
using Progress = Header::Progress;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Block all(weir::fuzz::text(data, size));
  const Header whole = parse(all.view());
  Header step;
  std::size_t seen = 0;
  while (step.progress == Progress::kNeedMore && seen <= size) {
    const Block prefix(all.view().substr(0, seen++));
    step = parse(prefix.view());
  }
  require(step.progress == whole.progress, "the pieces make no difference");
  if (whole.progress != Progress::kComplete) return 0;
  require(step.size == whole.size && step.source == whole.source, "nor to what is read");
  require(whole.size == seen - 1, "a header is complete with its last byte");
  require(whole.size <= weir::proxy_protocol::kMaxHeaderBytes, "a header has its bound");
  return 0;
}
