// One limiter of 10 a second and 20 at once, asked fifty times in each of three ways.

#include <weir/limiter.h>

#include <chrono>
#include <cstdio>

namespace {

constexpr int kCalls = 50;
constexpr weir::TokenBucket kNumbers{{.count = 10}, 20};

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

int main() {
  auto limiter = weir::Limiter::make(kNumbers);
  if (!limiter) return 1;

  // One moment for all, as for a batch: no call waits, those beyond the burst are refused.
  const weir::Instant now = weir::system_clock().now();
  int allowed = 0;
  for (int i = 0; i < kCalls; ++i) allowed += limiter->allow(1, now) ? 1 : 0;
  std::printf("allow: %d of %d at once\n", allowed, kCalls);

  // Tokens of the future: each ticket says how long to wait before acting.
  limiter->reset();
  weir::Duration last{0};
  for (int i = 0; i < kCalls; ++i) {
    const weir::Ticket ticket = limiter->reserve(1, weir::Duration::max(), now);
    if (ticket.granted()) last = ticket.delay();
  }
  std::printf("reserve: the last of %d acts after %.1f s\n", kCalls, seconds(last));

  // Blocks until a token is there: 20 at once, 30 more at 10 a second.
  limiter->reset();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) limiter->acquire();
  const auto took = std::chrono::steady_clock::now() - began;
  std::printf("wait: all %d, after %.1f s\n", kCalls, seconds(took));

  // A wait that is known to end too late is refused at once.
  weir::Instant deadline = weir::system_clock().now();
  deadline.steady_ns += 1'000'000;
  const bool in_time = limiter->acquire_until(deadline, 20).allowed();
  std::printf("wait for 20 more, 1 ms at most: %s\n", in_time ? "admitted" : "refused at once");
}
