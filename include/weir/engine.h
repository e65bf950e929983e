// Engine: a whole policy inside a program: the file that the gateway reads, without the gateway.
//
//   auto engine = weir::Engine::from_file("weir.yaml");
//   auto decision = engine->check({{"ip", peer}, {"method", "POST"}, {"path", "/login"}});
//
// What the policy says of listeners and proxies is checked and then not used. Counters live in this
// process; a policy whose store is elsewhere is refused.
//
// Nothing throws but for lack of memory. THREADS: everything from any thread, but for moving and
// destroying.

#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/clock.h"
#include "weir/decision.h"
#include "weir/export.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

namespace library {
class EngineCore;
struct Decided;
}  // namespace library

// What is known of a request: `ip`, `user`, `tier`, `method`, `path`, `host`, `header.NAME`,
// `cookie.NAME`, `query.NAME`, `domain`, `message`, and those that the policy declares.
struct AttributeValue {
  std::string_view name;
  std::string_view value;
};

// What one limit said.
struct LimitAnswer {
  std::string name;
  Verdict verdict;
  bool shadow = false;
  Source source = Source::kMemory;
  Reason reason = Reason::kNone;
};

// What HTTP says about a decision: status 200 with headers to add, or a whole refusal.
struct HttpAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string content_type;
  std::string body;
};

class WEIR_API Decision {
 public:
  bool allowed = true;
  std::string limit;  // the one that is named; empty where no enforcing limit was met
  Verdict verdict;    // its own; quota and remaining 0 where there is none
  Source source = Source::kMemory;
  Reason reason = Reason::kNone;
  Duration delay{0};                // hold an admitted request for so long
  std::vector<LimitAnswer> limits;  // every limit met, in file order, shadow ones too

  HttpAnswer http() const;

 private:
  friend class library::EngineCore;
  std::shared_ptr<library::Decided> inner_;  // WHY shared: copies are one decision
};

struct EngineOptions {
  const Clock* clock = nullptr;  // must outlive the engine; null: system_clock()
};

class WEIR_API Engine {
 public:
  enum class Format : std::uint8_t { kYaml, kToml };

  // ERRORS: kInvalid with every mistake of the policy, one a line, `file:line:column: ...`;
  // kUnsupported where its store is not memory://.
  static Result<Engine> from_file(const std::string& path, const EngineOptions& options = {});
  static Result<Engine> from_text(std::string text, Format format = Format::kYaml,
                                  const EngineOptions& options = {});

  Engine(Engine&& other) noexcept;
  Engine& operator=(Engine&& other) noexcept;
  ~Engine();

  // Decides one request. `cost` replaces what the limits say themselves; 0 looks and takes nothing.
  // ERRORS: kInvalid for an attribute that does not exist, stands twice, or cannot be read; nothing
  // is charged then.
  Result<Decision> check(std::span<const AttributeValue> attributes,
                         std::optional<std::uint64_t> cost = std::nullopt,
                         std::optional<Instant> now = std::nullopt);
  Result<Decision> check(std::initializer_list<AttributeValue> attributes,
                         std::optional<std::uint64_t> cost = std::nullopt,
                         std::optional<Instant> now = std::nullopt) {
    return check(std::span(attributes.begin(), attributes.size()), cost, now);
  }

  // The same, told later: `done` runs once; with counters in memory, before this returns.
  using Done = std::function<void(Result<Decision>)>;
  void check_async(std::span<const AttributeValue> attributes, std::optional<std::uint64_t> cost,
                   Done done);

  // What an admitted decision charged can still be corrected, in the windows that were charged: one
  // that has passed gives nothing back and takes nothing more. Copies of a decision are one.
  //
  // settle(): the call turned out to cost `cost`. Gives the rest back, or takes what was missing
  // though it may not be there: a bucket then owes it, a window counts above its limit. Corrects
  // the limits that say `settle` where one that was charged does, else all. refund(): gives
  // everything back, never above full, and ends the call's places. Of these, the first counts. True
  // when it was done; false where it was done before, or nothing was charged.
  bool settle(const Decision& decision, std::uint64_t cost,
              std::optional<Instant> now = std::nullopt);
  bool refund(const Decision& decision, std::optional<Instant> now = std::nullopt);
  // Of limits on calls in flight (concurrency): the call has ended; or it goes on, and its timeout
  // begins anew. False where it is in flight no more: released, refunded, or left at its timeout.
  bool release(const Decision& decision, std::optional<Instant> now = std::nullopt);
  bool renew(const Decision& decision, std::optional<Instant> now = std::nullopt);

  // Puts another policy in force, while others check. What is left in buckets stays left, what is
  // used in windows stays used. ERRORS: as from_file(); the old policy stays in force then.
  Result<bool> reload_file(const std::string& path);
  Result<bool> reload_text(std::string text, Format format = Format::kYaml);

 private:
  friend class MessageLimiter;
  explicit Engine(std::unique_ptr<library::EngineCore> core);
  std::unique_ptr<library::EngineCore> core_;
};

}  // namespace weir
