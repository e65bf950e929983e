#include "store/redis/group_call.h"

#include <utility>

#include "wire/resp/writer.h"

namespace weir::store::redis {
namespace {

// The lean script wants one bucket and nothing else.
bool fits_lean(const std::vector<Item*>& items, Mode mode) {
  if (items.size() != 1 || mode != Mode::kCharge) return false;
  const Item& item = *items.front();
  return item.rule->lean() && item.old_value.empty();
}

// What the scripts return (lua/).
bool is_again(const resp::Reply& reply) {
  return reply.is_list() && reply.size() >= 2 && reply.first().is_text();
}
bool fits_bucket(const resp::Reply& reply) {
  return reply.is(resp::Type::kInteger) || reply.is_text();
}
bool fits_charge(const resp::Reply& reply) {
  return is_again(reply) || (reply.is_list() && reply.size() % 5 == 2);
}
bool fits_correction(const resp::Reply& reply) {
  return is_again(reply) || (reply.is_list() && reply.size() == 2);
}

}  // namespace

void GroupCall::run(Client& client, std::vector<Item*> items, const Options& options, Done done) {
  // Owned by the outcome it waits for.
  auto* call = new GroupCall(client, std::move(items), options, std::move(done));
  call->send();
}

void GroupCall::send() {
  ++rounds_;
  lean_ = !full_ && fits_lean(items_, options_.mode);
  ScriptCall call = make_call();
  call.slot = items_.front()->slot;
  call.deadline_ns = options_.deadline_ns;
  call.done = [this](const Outcome& outcome) { take_outcome(outcome); };
  client_.run(std::move(call));
}

ScriptCall GroupCall::make_call() const {
  ScriptCall call;
  std::string& body = call.body;
  body.reserve(256 * items_.size());
  const bool once = !options_.once.empty();
  const std::size_t keys = items_.size() + (once ? 1 : 0);
  resp::append_argument(body, static_cast<std::int64_t>(keys));
  for (const Item* item : items_) resp::append_argument(body, item->name);
  if (once) resp::append_argument(body, options_.once);
  std::string time;
  if (options_.time_us) time = std::to_string(*options_.time_us);
  if (lean_) {
    call.script = &bucket_script();
    call.fits = fits_bucket;
    call.arguments = 2 + CounterRule::kLeanArguments + 1;
    items_.front()->rule->append_lean(body, items_.front()->cost);
    resp::append_argument(body, time);
    return call;
  }
  const bool correction = options_.mode == Mode::kCorrect;
  call.script = correction ? &correct_script() : &charge_script();
  call.fits = correction ? fits_correction : fits_charge;
  call.arguments = 1 + keys + 2 + CounterRule::kArguments * items_.size();
  resp::append_argument(body, time);
  if (once) {
    resp::append_argument(body, options_.once_until_us);
  } else {
    resp::append_argument(body, options_.mode == Mode::kLook ? "look" : "");
  }
  for (const Item* item : items_) append_item(body, *item);
  return call;
}

void GroupCall::append_item(std::string& body, const Item& item) const {
  CounterRule::Request request;
  request.cost = item.cost;
  request.shadow = item.shadow;
  request.with_before = item.with_before;
  request.charged_at_us = item.charged_at_us;
  request.change = item.change;
  request.now_us = options_.guess_us;
  request.old_value = item.old_value;
  request.new_value = item.new_value;
  if (options_.mode == Mode::kCorrect) {
    item.rule->append_correction(body, request);
  } else {
    item.rule->append_charge(body, request);
  }
}

void GroupCall::take_outcome(const Outcome& outcome) {
  Result result;
  result.ending = outcome.ending;
  if (outcome.ending != Ending::kReply) return finish(result);
  const resp::Reply& reply = *outcome.reply;
  if (reply.is_error()) {
    result.foreign = refusal_of(reply.text()) == Refusal::kForeign;
    return finish(result);
  }
  if (lean_) return take_lean(reply);
  if (is_again(reply)) {
    result.foreign = !prepare(reply);
    if (!result.foreign && rounds_ < kMaxRounds) return send();
    result.ending = Ending::kTimeout;
    return finish(result);
  }
  options_.mode == Mode::kCorrect ? take_correction(reply) : take_decisions(reply);
}

// 1 + how many calls in flight were found; 0: made before; -1: too late. Then the time.
void GroupCall::take_correction(const resp::Reply& reply) {
  Result result;
  if (!reply.is_list() || reply.size() != 2) return finish(result);
  const std::int64_t answer = reply.first().integer();
  result.now_us = reply.first().next().integer();
  result.known = true;
  for (Item* item : items_) item->now_us = result.now_us;
  if (answer > 0) {
    result.correction.found = static_cast<std::uint32_t>(answer - 1);
  } else {
    result.correction.outcome =
        answer == 0 ? Correction::Outcome::kSpent : Correction::Outcome::kTooLate;
  }
  finish(result);
}

void GroupCall::take_lean(const resp::Reply& reply) {
  Item& item = *items_.front();
  Result result;
  if (reply.is_text()) {  // what stands there: written under other numbers, or it owes tokens
    full_ = true;
    return send();
  }
  if (!reply.is(resp::Type::kInteger)) return finish(result);
  item.view = item.rule->lean_view(reply.integer(), item.cost);
  item.admits = reply.integer() >= 0 && item.cost <= item.rule->quota();
  item.known = true;
  result.known = true;
  result.admitted = item.admits || item.shadow;
  finish(result);
}

void GroupCall::take_decisions(const resp::Reply& reply) {
  Result result;
  if (!reply.is_list() || reply.size() != 2 + 5 * items_.size()) return finish(result);
  resp::Reply value = reply.first();
  result.now_us = value.integer();
  value = value.next();
  result.admitted = value.integer() == 1;
  for (Item* item : items_) {
    value = value.next();
    item->admits = value.integer() == 1;
    for (std::int64_t& each : item->view.at) {
      value = value.next();
      each = value.integer();
    }
    item->now_us = result.now_us;
    item->known = true;
  }
  result.known = true;
  finish(result);
}

// "again", the time, then pairs of an item's number (from 1) and the value that stands there.
bool GroupCall::prepare(const resp::Reply& again) {
  resp::Reply value = again.first().next();
  const auto now_us = value.as_integer();
  if (!now_us) return false;
  options_.guess_us = *now_us;
  for (value = value.next(); value.valid(); value = value.next()) {
    const std::int64_t number = value.integer();
    value = value.next();
    if (number < 1 || static_cast<std::size_t>(number) > items_.size() || !value.valid()) {
      return false;
    }
    if (value.text().empty()) continue;  // only the bounds were wrong
    if (!prepare(*items_[static_cast<std::size_t>(number - 1)], value.text())) return false;
  }
  return true;
}

bool GroupCall::prepare(Item& item, std::string_view value) {
  auto adopted = item.rule->adopt(value, options_.time_us.value_or(options_.guess_us));
  if (!adopted) return false;
  item.old_value = value;
  item.new_value = std::move(*adopted);
  return true;
}

void GroupCall::finish(const Result& result) {
  const std::unique_ptr<GroupCall> self(this);
  done_(result);
}

}  // namespace weir::store::redis
