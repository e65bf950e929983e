// Arguments of CL.THROTTLE, THROTTLE and WEIR.CHECK: what is taken holds in the bounds that the
// arithmetic behind it counts on; a value that a caller sends is kept in its normal form.
//
//   input = argument LF argument LF ...

#include <vector>

#include "engine/sent_attributes.h"
#include "fuzz/support.h"
#include "limit/rule.h"
#include "policy/policy.h"
#include "serve/resp/throttle.h"

namespace {

using namespace weir;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

void check(const Result<resp::Throttle>& read, bool may_refund) {
  if (!read) {
    fuzz::require(!read.error().message.empty(), "a refusal says why");
    return;
  }
  fuzz::require(may_refund || !read->refund, "only CL.THROTTLE gives back");
  fuzz::require(read->key.size() <= resp::kMaxKeyBytes, "keys are bounded");
  fuzz::require(read->numbers.rate.count > 0 && read->numbers.rate.period.count() > 0,
                "a rate that can be divided by");
}

void check_attributes(const std::vector<std::string_view>& words) {
  static const policy::Policy policy = [] {
    policy::Policy made;
    made.attributes = {"plan"};
    return made;
  }();
  engine::SentAttributes sent;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const bool right = !sent.add(words[i], words[i + 1], policy);
    if (right && words[i] == "ip") fuzz::require(sent.ip().has_value(), "an address was kept");
    // An empty user or tier is none, and none may be said twice.
    fuzz::require(
        !right || words[i + 1].empty() || sent.add(words[i], words[i + 1], policy).has_value(),
        "a name that stands twice is a mistake");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Block block(fuzz::text(data, size));
  const auto words = lines_of(block.view());
  if (words.size() == 5 || words.size() == 6) {
    check(resp::read_cl_throttle(words), true);
    check(resp::read_throttle(words), false);
  }
  check_attributes(words);
  return 0;
}
