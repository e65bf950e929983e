#include "oracle/oracle.h"

namespace weir::oracle {

Instant Oracle::advance(Instant now) {
  if (!latest_ || now.steady_ns >= latest_->steady_ns) latest_ = now;
  return *latest_;
}

Model& Oracle::model(const scenario::Met& met) {
  std::unique_ptr<Model>& model = models_[{met.limit->name, met.key}];
  if (!model) model = make_model(met.limit->numbers);
  return *model;
}

scenario::Reply Oracle::take(std::span<const scenario::Met> met, Instant now) {
  now = advance(now);
  scenario::Reply reply{true, {}};
  for (const scenario::Met& one : met) {
    const bool admits = model(one).ask(one.cost, now, false).allowed();
    if (!admits && !one.limit->shadow) reply.admitted = false;
  }
  for (const scenario::Met& one : met) {
    reply.verdicts.push_back(model(one).ask(one.cost, now, reply.admitted));
  }
  return reply;
}

void Oracle::refund(std::span<const scenario::Met> met, Instant now,
                    std::optional<Instant> charged_at) {
  now = advance(now);
  for (const scenario::Met& one : met) model(one).refund(one.cost, now, charged_at);
}

void Oracle::reset(std::span<const scenario::Met> met) {
  for (const scenario::Met& one : met) models_.erase({one.limit->name, one.key});
}

}  // namespace weir::oracle
