// A WebSocket message as limits see it: any text is read or refused; its id is JSON of bounded
// length, and so is what the client is told when the message is refused.

#include "base/json.h"
#include "engine/compiled_policy.h"
#include "engine/engine.h"
#include "engine/message.h"
#include "fuzz/support.h"
#include "policy/load.h"
#include "store/memory/memory_store.h"

namespace {

using namespace weir;

struct Connection final : engine::Attributes {
  std::optional<std::string_view> find(const policy::Attribute&) const override { return {}; }
  std::optional<IpAddress> ip() const override { return {}; }
};

// A burst of 0: every message that a limit knows of is refused.
engine::Engine& the_engine() {
  static store::MemoryStore store;
  static engine::Engine engine(store);
  static const bool installed = [] {
    policy::Loaded loaded = policy::load_text("p.yaml", R"(
limits:
  - name: any
    match: { message: "*" }
    algorithm: token_bucket
    rate: 1/s
    burst: 0
    cost: message./tokens
    max_cost: 100
  - name: query
    match: { message: [query, "~q.*"], message./a/0: x }
    key: [message./user]
    algorithm: token_bucket
    rate: 1/s
    burst: 0
)",
                                              policy::Format::kYaml);
    return loaded.policy && engine.install(std::move(*loaded.policy)).has_value();
  }();
  fuzz::require(installed, "the policy is right");
  return engine;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  engine::Engine& engine = the_engine();
  const fuzz::Block block(fuzz::text(data, size));
  const Connection connection;
  engine::Message message(connection);
  static_cast<void>(message.read(engine.current(), block.view()));
  const std::string id = message.request_id();
  fuzz::require(parse_json(id).has_value(), "the id is JSON");
  // Each byte may have been one that is written as six.
  fuzz::require(id.size() <= 6 * engine::Message::kMaxRequestId + 2, "and bounded");
  engine.decide(message, Instant{}, std::nullopt, [&](engine::Decision decision) {
    fuzz::require(!decision.allowed, "no message passes a burst of 0");
    std::string told;
    engine::append_message_refusal(decision, id, told);
    fuzz::require(parse_json(told).has_value(), "the refusal is JSON");
  });
  return 0;
}
