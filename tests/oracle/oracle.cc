#include "oracle/oracle.h"

#include <set>

namespace weir::oracle {

Instant Oracle::advance(Instant now) {
  if (!latest_ || now.steady_ns >= latest_->steady_ns) latest_ = now;
  return *latest_;
}

Model& Oracle::model(const scenario::Met& met) {
  std::unique_ptr<Model>& model = models_[{met.counter(), met.key}];
  if (!model) model = make_model(met.numbers());
  return *model;
}

scenario::Reply Oracle::take(std::span<const scenario::Met> met, Instant now) {
  now = advance(now);
  scenario::Reply reply{true, {}};
  std::set<const scenario::Limit*> refusing;
  for (const scenario::Met& one : met) {
    if (model(one).ask(one.cost, now, false).allowed()) continue;
    refusing.insert(one.limit);
    if (!one.limit->shadow) reply.admitted = false;
  }
  for (const scenario::Met& one : met) {
    const bool charge = reply.admitted && !refusing.contains(one.limit);
    reply.verdicts.push_back(model(one).ask(one.cost, now, charge));
  }
  return reply;
}

void Oracle::correct(std::span<const scenario::Met> met, scenario::Change change, Instant now,
                     std::optional<Instant> charged_at) {
  now = advance(now);
  for (const scenario::Met& one : met) {
    Model& mine = model(one);
    switch (change) {
      case scenario::Change::kRefund:
        mine.refund(one.cost, now, charged_at);
        break;
      case scenario::Change::kOverdraw:
        mine.overdraw(one.cost, now, charged_at);
        break;
      case scenario::Change::kRenew:
        mine.renew(one.cost, now, charged_at);
        break;
    }
  }
}

void Oracle::reset(std::span<const scenario::Met> met) {
  for (const scenario::Met& one : met) models_.erase({one.counter(), one.key});
}

}  // namespace weir::oracle
