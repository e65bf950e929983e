#include "oracle/model.h"

#include "oracle/bucket_models.h"
#include "oracle/window_models.h"

namespace weir::oracle {
namespace {

class UnlimitedModel final : public Model {
 public:
  Verdict ask(std::uint64_t, Instant, bool) override {
    Verdict verdict;
    verdict.quota = verdict.remaining = ~std::uint64_t{0};
    return verdict;
  }
  void refund(std::uint64_t, Instant, std::optional<Instant>) override {}
  void overdraw(std::uint64_t, Instant, std::optional<Instant>) override {}
};

struct Maker {
  using Made = std::unique_ptr<Model>;
  Made operator()(const TokenBucket& n) const { return std::make_unique<TokenBucketModel>(n); }
  Made operator()(const LeakyBucket& n) const { return std::make_unique<LeakyBucketModel>(n); }
  Made operator()(const FixedWindow& n) const { return std::make_unique<FixedWindowModel>(n); }
  Made operator()(const SlidingCounter& n) const {
    return std::make_unique<SlidingCounterModel>(n);
  }
  Made operator()(const SlidingLog& n) const { return std::make_unique<LogModel>(n); }
  Made operator()(const Concurrency& n) const { return std::make_unique<LogModel>(n); }
  Made operator()(const Unlimited&) const { return std::make_unique<UnlimitedModel>(); }
};

}  // namespace

Integer floor(const Fraction& value) {
  const Integer top = numerator(value);
  const Integer bottom = denominator(value);
  const Integer quotient = top / bottom;  // towards zero
  return quotient * bottom > top ? Integer(quotient - 1) : quotient;
}

Integer ceiling(const Fraction& value) {
  return -floor(-value);
}

std::unique_ptr<Model> make_model(const Numbers& numbers) {
  return std::visit(Maker{}, numbers);
}

}  // namespace weir::oracle
