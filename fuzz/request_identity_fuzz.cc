// What a stranger's bytes may do to paths, hosts, addresses, chains of proxies and wildcards: no
// crash, and what each promises. The first byte picks the reader.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "fuzz/support.h"
#include "policy/forwarded.h"
#include "policy/path.h"
#include "policy/pattern.h"

namespace {

using weir::IpAddress;
using weir::IpPrefix;
using weir::fuzz::require;

// In normal form there are no dot segments, doubled slashes or odd bytes, and a second time changes
// nothing.
void check_path(std::string_view text, const weir::policy::Paths& options) {
  weir::policy::PathBuffer buffer;
  const auto once = weir::policy::normalise_path(text, options, buffer);
  if (!once || text == "*") return;
  const std::string upstream(once->upstream);
  const std::string match(once->match);
  require(upstream[0] == '/' && match[0] == '/', "a path begins with a slash");
  const std::string closed = upstream + '/';
  require(closed.find("/../") == std::string::npos && closed.find("/./") == std::string::npos,
          "no dot segment is left");
  require(upstream.find("//") == std::string::npos, "no doubled slash is left");
  require(match.find(';') == std::string::npos, "no parameter is compared");
  for (const char c : upstream)
    require(c > 0x20 && c < 0x7f && c != '\\', "no odd byte is passed on");
  weir::policy::PathBuffer second_buffer;
  const auto twice = weir::policy::normalise_path(upstream, options, second_buffer);
  require(twice.has_value() && twice->upstream == upstream && twice->match == match,
          "a path in normal form stays as it is");
  if (const auto decoded = weir::policy::with_slashes_decoded(match, options)) {
    require((*decoded)[0] == '/' && (*decoded + '/').find("/../") == std::string::npos,
            "decoded slashes lead nowhere above the root");
  }
}

void check_host(std::string_view text) {
  const auto once = weir::policy::normalise_host(text);
  if (!once || !*once) return;
  const auto twice = weir::policy::normalise_host(**once);
  require(twice.has_value() && *twice == *once, "a host in normal form stays as it is");
}

void check_address(const std::optional<IpAddress>& address) {
  if (!address) return;
  require(address->to_string().size() <= IpAddress::kTextMax, "a canonical text keeps its bound");
  require(IpAddress::parse(address->to_string()) == address, "an address survives its own text");
}

void check_addresses(std::string_view text) {
  check_address(IpAddress::parse(text));
  check_address(IpAddress::parse_with_port(text));
  if (const auto prefix = IpPrefix::parse(text)) {
    require(IpPrefix::parse(prefix->to_string()) == prefix, "a block survives its own text");
    require(prefix->contains(prefix->network()), "a block contains its network");
  }
}

void check_chains(std::string_view text) {
  weir::policy::ForwardedHops forwarded(text);
  std::size_t hops = 0;
  while (const auto hop = forwarded.next()) {
    check_address(hop->address);
    require(++hops <= weir::policy::ForwardedHops::kMaxHops, "hops are bounded");
  }
  weir::policy::ForwardedForHops chain(text);
  while (const auto hop = chain.next()) check_address(hop->address);
}

// The plain way: which prefixes of `text` the pattern so far can be.
bool matches_plainly(std::string_view pattern, std::string_view text) {
  std::vector<bool> can(text.size() + 1, false);
  can[0] = true;
  for (const char wanted : pattern) {
    std::vector<bool> next(text.size() + 1, false);
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (wanted == '*') {
        next[i] = can[i] || (i > 0 && next[i - 1]);
      } else if (i > 0) {
        next[i] = can[i - 1] && text[i - 1] == wanted;
      }
    }
    can = next;
  }
  return can[text.size()];
}

void check_wildcard(std::string_view text) {
  const std::size_t cut = text.find('\n');
  if (cut == std::string_view::npos || text.size() > 256) return;
  const std::string_view pattern = text.substr(0, cut);
  const std::string_view value = text.substr(cut + 1);
  require(weir::policy::matches_wildcard(pattern, value) == matches_plainly(pattern, value),
          "the fast matcher is the plain one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const weir::fuzz::Block block({reinterpret_cast<const char*>(data) + 1, size - 1});
  const std::string_view text = block.view();
  switch (data[0] % 5) {
    case 0: {
      weir::policy::Paths options;
      options.fold_case = (data[0] & 0x80) != 0;
      check_path(text, options);
      static_cast<void>(weir::policy::split_target(text));
      break;
    }
    case 1:
      check_host(text);
      break;
    case 2:
      check_addresses(text);
      break;
    case 3:
      check_chains(text);
      break;
    default:
      check_wildcard(text);
      break;
  }
  return 0;
}
