// The oracle: several limits on one request, over the models.
//
// All enforcing limits admit and all are charged, or none is; then the shadow limits, each charged
// only if the request is admitted and it admits the call itself, by all of its pairs of numbers.
// Time never goes back. It cannot do reloads or steps of the wall clock: what they must give is
// written into scenarios by hand.
//
// THREADS: one at a time.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "oracle/model.h"
#include "scenario/run.h"

namespace weir::oracle {

class Oracle final : public scenario::Target {
 public:
  scenario::Reply take(std::span<const scenario::Met> met, Instant now) override;
  void correct(std::span<const scenario::Met> met, scenario::Change change, Instant now,
               std::optional<Instant> charged_at) override;
  void reset(std::span<const scenario::Met> met) override;

 private:
  Instant advance(Instant now);
  Model& model(const scenario::Met& met);

  std::map<std::pair<std::string, std::string>, std::unique_ptr<Model>> models_;
  std::optional<Instant> latest_;
};

}  // namespace weir::oracle
