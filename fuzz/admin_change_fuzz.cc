// A call of the admin API: its path, its body, and what they make of a policy. A changed limit is a
// right one or comes with what is wrong; nothing crashes on a body.
//
//   input = path LF body

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/json.h"
#include "fuzz/support.h"
#include "policy/change.h"
#include "policy/load.h"
#include "serve/admin/change_request.h"

namespace {

using namespace weir;

const policy::Loaded& loaded() {
  static const policy::Loaded loaded = policy::load_text("p.yaml", R"(
attributes: [plan]
limits:
  - name: a
    key: [user, ip]
    algorithm: token_bucket
    rate: 1/s
    burst: 5
    tiers: { gold: { burst: 50 }, staff: unlimited }
    overrides: [{ key: ["u1", "203.0.113.7"], burst: 7 }]
  - name: b
    algorithm: sliding_counter
    windows: [{ limit: 10, window: 1s }, { limit: 1000, window: 1d }]
)",
                                                         policy::Format::kYaml);
  return loaded;
}

void check_limit(std::size_t place, const boost::json::object& fields,
                 std::vector<policy::OverrideChange> overrides) {
  policy::LimitChange change;
  change.fields = fields;
  change.overrides = std::move(overrides);
  const auto changed = policy::change_limit(*loaded().policy, *loaded().tree, place, change);
  fuzz::require(changed.limit.has_value() == changed.mistakes.empty(), "a limit, or why not");
}

void try_on_policy(const std::vector<std::string>& target, const boost::json::object& fields) {
  check_limit(0, fields, {});
  check_limit(1, fields, {});
  policy::OverrideChange override;
  if (target.size() > 3) override.key.assign(target.begin() + 3, target.end());
  override.fields = fields;
  check_limit(0, {}, {override});
  policy::Policy changed = *loaded().policy;
  static_cast<void>(policy::change_policy(changed, fields));
  std::vector<std::string> mistakes;
  const auto meant = policy::read_meant(*loaded().policy, fields, mistakes);
  fuzz::require(meant.has_value() == mistakes.empty(), "whom it means, or why not");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text(data, size);
  const std::size_t cut = input.find('\n');
  if (cut == std::string_view::npos) return 0;
  const fuzz::Block path(input.substr(0, cut));
  const fuzz::Block body(input.substr(cut + 1));
  const auto target = admin::target_of(admin::path_parts(path.view()));
  for (const auto read : {admin::read_set, admin::read_ban}) {
    admin::Change change;
    const auto right = read(body.view(), change);
    if (!right) {
      fuzz::require(!right.error().message.empty(), "a refusal says why");
      continue;
    }
    fuzz::require(!change.lasts || change.lasts->count() >= 0, "nothing lasts less than no time");
    try_on_policy(target, change.set);
  }
  return 0;
}
