// Logins: five attempts at once and one more each ten seconds, for each user and for each address;
// both limits admit an attempt, or neither is charged.

#include <weir/keyed_limiter.h>

#include <cstdio>
#include <string>

int main() {
  const weir::Store store = weir::Store::memory({.max_keys = 100'000});
  const weir::TokenBucket numbers{{.count = 1, .period = std::chrono::seconds(10)}, 5};
  auto per_user = weir::KeyedLimiter::make("user", {numbers}, store);
  auto per_address = weir::KeyedLimiter::make("address", {numbers}, store);
  if (!per_user || !per_address) return 1;

  for (int i = 0; i < 6; ++i) {
    const weir::Together::Part parts[] = {{&*per_user, "ann"}, {&*per_address, "203.0.113.7"}};
    const auto answer = weir::Together::check(parts);
    if (!answer) return 1;
    if (answer->verdict.allowed()) {
      std::puts("attempt allowed");
    } else {
      const auto wait =
          std::chrono::duration_cast<std::chrono::milliseconds>(answer->verdict.retry_after);
      std::printf("attempt refused, retry after %lld ms\n", static_cast<long long>(wait.count()));
    }
  }
}
