// A store that never answers, for tests of what `on_error` makes of that.

#pragma once

#include "store/store.h"

namespace weir::testing {

class FailedStore final : public store::Store {
 public:
  void charge(std::span<const store::Charge>, Instant now, std::span<store::Answer> answers,
              Done done) override {
    for (store::Answer& answer : answers) answer.known = false;
    done({true, now});
  }
  void correct(std::span<const store::Charge>, const std::optional<store::Once>&, Instant now,
               Corrected told) override {
    if (told) told({store::Correction::Outcome::kUnknown, 0, now});
  }
  void reset(std::span<const store::Charge>, Corrected told) override {
    if (told) told({store::Correction::Outcome::kUnknown});
  }
};

}  // namespace weir::testing
