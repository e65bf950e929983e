#include "policy/value_list.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text_file.h"
#include "policy/document.h"

namespace weir::policy {
namespace {

// Of a file of Windows' too, whose lines end in \r\n.
std::string_view trimmed_line(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = line.find_first_not_of(kBlank);
  if (begin == line.npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlank) - begin + 1);
}

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalid, std::move(message)};
}

void add_files(const Match& match, std::vector<std::string>& out) {
  for (const Condition& condition : match.conditions) {
    const ValueList* list = condition.pattern.list();
    if (list == nullptr || std::find(out.begin(), out.end(), list->file()) != out.end()) continue;
    out.push_back(list->file());
  }
}

}  // namespace

// FNV-1a. The file's lines are the operator's, not a stranger's.
std::size_t ValueList::HashAddress::operator()(const IpAddress& address) const {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint8_t byte : address.bytes()) hash = (hash ^ byte) * 0x100000001b3;
  return static_cast<std::size_t>(hash);
}

void ValueList::add_block(const IpPrefix& block) {
  const bool v4 = block.network().is_v4();
  const auto same = [&](const Blocks& one) { return one.v4 == v4 && one.bits == block.bits(); };
  auto blocks = std::find_if(blocks_.begin(), blocks_.end(), same);
  if (blocks == blocks_.end()) blocks = blocks_.insert(blocks_.end(), {v4, block.bits(), {}});
  blocks->networks.insert(block.network());
}

Result<bool> ValueList::add(std::string_view line, bool addresses) {
  if (++size_ > kMax) {
    return invalid("has more than " + std::to_string(kMax) + " lines, the most that are read");
  }
  if (addresses) {
    const auto block = IpPrefix::parse(line);
    if (!block) return invalid("is neither an address nor a block without host bits");
    add_block(*block);
    return true;
  }
  if (line[0] != '~' && line.find('*') == line.npos) {
    exact_.insert(line);
    return true;
  }
  if (patterns_.alternatives().size() == kMaxPatterns) {
    return invalid("is one wildcard or regular expression more than the " +
                   std::to_string(kMaxPatterns) + " there can be");
  }
  return patterns_.add_text(line);
}

Result<std::shared_ptr<const ValueList>> ValueList::read(const std::string& file,
                                                         const Attribute& attribute) {
  auto read = read_text_file(file, kLargestFile);
  if (!read) return read.error();
  auto list = std::make_shared<ValueList>();
  list->file_ = file;
  list->text_ = std::move(read->text);
  std::string_view rest = list->text_;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view whole = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(whole.size() + 1, rest.size()));
    const std::string_view line = trimmed_line(whole);
    if (line.empty() || line[0] == '#') continue;
    const auto added = list->add(line, attribute.kind == Attribute::Kind::kIp);
    if (!added) return invalid("line " + std::to_string(number) + " " + added.error().message);
  }
  return std::shared_ptr<const ValueList>(std::move(list));
}

bool ValueList::matches(std::string_view value) const {
  return exact_.contains(value) || patterns_.matches(value);
}

bool ValueList::matches_ip(const IpAddress& address) const {
  return std::any_of(blocks_.begin(), blocks_.end(), [&](const Blocks& one) {
    return one.v4 == address.is_v4() && one.networks.contains(address.masked(one.bits));
  });
}

std::vector<std::string> listed_files(const Policy& policy) {
  std::vector<std::string> out;
  for (const Limit& limit : policy.limits) {
    if (limit.match) add_files(*limit.match, out);
    for (const Match& except : limit.except) add_files(except, out);
  }
  for (const Match& exempt : policy.exempt) add_files(exempt, out);
  for (const Block& block : policy.block) add_files(block.match, out);
  return out;
}

}  // namespace weir::policy
