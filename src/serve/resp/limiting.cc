// The commands that decide: CL.THROTTLE, THROTTLE, WEIR.CHECK, WEIR.TAKE.

#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "engine/compiled_policy.h"
#include "engine/sent_attributes.h"
#include "serve/resp/commands.h"
#include "serve/resp/throttle.h"
#include "wire/resp/writer.h"

namespace weir::resp {
namespace {

// No limit of a policy can have such a name, so these counters are nobody else's.
constexpr std::string_view kCellFamily = "~cl.throttle";
constexpr std::string_view kCrabFamily = "~throttle";

std::optional<std::uint64_t> read_cost(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Rounded up, so that a client that waits so long is admitted.
std::int64_t ceil_us(Duration duration) {
  return duration.count() / 1000 + (duration.count() % 1000 != 0);
}

// What a decision lives on until it comes.
struct Asked {
  engine::SentAttributes attributes;
  Client* client = nullptr;
  Replies::Place place = 0;
  Version version = Version::kResp2;  // of the question: the client may change it meanwhile
};

// Has `ask` put a question whose answer is told by answer(client, place, write): at once it is
// written where replies stand now, later into the place that is kept for it.
template <typename Ask>
void ask_in_order(Client& client, Ask ask) {
  client.asking = true;
  if (client.timed_since == engine::DecisionTimer::kNotTimed) {
    client.timed_since = client.commands->timer().begin();
    client.timed_place = client.replies.next();
  }
  ask();
  if (!client.asking) return;
  client.asking = false;
  client.replies.reserve();
}

template <typename Write>
void answer_in_order(Client& client, Replies::Place place, Write write) {
  if (place == client.timed_place) {
    const auto began = std::exchange(client.timed_since, engine::DecisionTimer::kNotTimed);
    client.commands->timer().end(began);
  }
  if (client.asking) {
    client.asking = false;
    write(client.replies.now());
    return;
  }
  write(client.replies.at(place));
  client.on_reply(place);
}

}  // namespace

void Commands::append_throttle(const store::Answer& answer, bool cell, std::string& out) const {
  if (answer.source == Source::kFailClosed) {
    requests_.error.add();
    return append_error(out, "UNAVAILABLE the store did not answer, and store.on_error is deny");
  }
  requests_.count(answer.verdict.allowed());
  append_integers(out, cell ? cl_throttle_reply(answer.verdict) : throttle_reply(answer.verdict));
}

// [allowed, limit, remaining, retry_after_us, reset_after_us, delay_us, source]
void Commands::append_decision(const engine::Decision& decision, Version version,
                               std::string& out) const {
  requests_.count(decision.allowed, decision.reason);
  const engine::LimitDecision* named = decision.named_limit();
  const Verdict verdict = named != nullptr && named->known() ? named->verdict : Verdict{};
  const bool wait = verdict.outcome == Outcome::kDenied && verdict.retry_known;
  append_array_header(out, 7);
  append_integer(out, decision.allowed ? 1 : 0);
  if (named != nullptr) {
    append_bulk(out, named->name);
  } else {
    append_null(out, version);
  }
  append_integer(out, static_cast<std::int64_t>(verdict.remaining));
  append_integer(out, wait ? ceil_us(verdict.retry_after) : -1);
  append_integer(out, ceil_us(verdict.reset_after));
  append_integer(out, ceil_us(decision.delay));
  append_bulk(out, to_string(decision.source));
}

// WHY the form in the place's last bit: what is kept for each command of a pipeline shall fit into
// a std::function without an allocation.
void Commands::ask_throttle(const Throttle& asked, bool cell, Client& client) const {
  const Replies::Place tagged = client.replies.next() << 1 | (cell ? 1u : 0u);
  Client* const to = &client;
  ask_in_order(client, [&] {
    const auto told = services_.adhoc.decide(
        {cell ? kCellFamily : kCrabFamily, asked.key, asked.numbers, asked.cost, asked.refund},
        client.now, [to, tagged](const store::Answer& answer) {
          answer_in_order(*to, tagged >> 1, [&](std::string& out) {
            to->commands->append_throttle(answer, (tagged & 1) != 0, out);
          });
        });
    if (told) return;
    client.asking = false;
    refuse(client, told.error().message);
  });
}

void Commands::cl_throttle(Arguments arguments, Client& client) const {
  const Result<Throttle> asked = read_cl_throttle(arguments);
  if (!asked) return refuse(client, asked.error().message);
  ask_throttle(*asked, /*cell=*/true, client);
}

void Commands::throttle(Arguments arguments, Client& client) const {
  const Result<Throttle> asked = read_throttle(arguments);
  if (!asked) return refuse(client, asked.error().message);
  ask_throttle(*asked, /*cell=*/false, client);
}

// WEIR.CHECK cost attribute value [attribute value ...]
void Commands::check(Arguments arguments, Client& client) const {
  const auto cost = read_cost(arguments[1]);
  if (!cost) return refuse(client, "cost must be a whole number from 0 to 18446744073709551615");
  if (arguments.size() % 2 != 0) return refuse(client, "an attribute has no value");
  auto asked = std::make_unique<Asked>();
  asked->attributes.never_released();
  const auto policy = services_.engine.current();
  for (std::size_t i = 2; i < arguments.size(); i += 2) {
    if (arguments[i + 1].size() > kMaxKeyBytes) return refuse(client, "a value is too long");
    const auto bad = asked->attributes.add(arguments[i], arguments[i + 1], policy->policy());
    if (bad) return refuse(client, bad->field + " " + bad->message);
  }
  asked->client = &client;
  asked->place = client.replies.next();
  asked->version = client.version;
  Asked* const raw = asked.release();
  ask_in_order(client, [&] {
    services_.engine.decide(raw->attributes, client.now, cost,
                            [raw](const engine::Decision& decision) {
                              const std::unique_ptr<Asked> owned(raw);
                              Client& to = *owned->client;
                              answer_in_order(to, owned->place, [&](std::string& out) {
                                to.commands->append_decision(decision, owned->version, out);
                              });
                            });
  });
}

// WEIR.TAKE limit cost [key ...]
//
// The version of the question stands in the place's last bit, as the form of a throttle does.
void Commands::take(Arguments arguments, Client& client) const {
  const auto cost = read_cost(arguments[2]);
  if (!cost) return refuse(client, "cost must be a whole number from 0 to 18446744073709551615");
  const std::vector<std::string> values(arguments.begin() + 3, arguments.end());
  Client* const to = &client;
  const bool resp3 = client.version == Version::kResp3;
  const Replies::Place tagged = client.replies.next() << 1 | (resp3 ? 1u : 0u);
  ask_in_order(client, [&] {
    const auto told = services_.engine.take(
        arguments[1], values, client.now, *cost, [to, tagged](const engine::Decision& decision) {
          const Version version = (tagged & 1) != 0 ? Version::kResp3 : Version::kResp2;
          answer_in_order(*to, tagged >> 1, [&](std::string& out) {
            to->commands->append_decision(decision, version, out);
          });
        });
    if (told) return;
    client.asking = false;
    refuse(client, told.error().message);
  });
}

}  // namespace weir::resp
