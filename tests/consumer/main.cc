// A program of somebody else's: links weir as installed, and uses each part of it once.

#include <weir/weir.h>

#include <cstdio>

int main() {
  const weir::TokenBucket one{{1, std::chrono::hours(1)}, 1};
  auto limiter = weir::Limiter::make(one);
  auto keyed = weir::KeyedLimiter::make("users", one);
  auto engine =
      weir::Engine::from_text("limits: [{name: all, algorithm: token_bucket, rate: 1/h}]");
  if (!limiter || !keyed || !engine) return 2;
  weir::Follower follower;
  const bool right = limiter->allow() && !limiter->allow() && keyed->allow("ann") &&
                     !keyed->allow("ann") && keyed->allow("bob") &&
                     engine->check({{"path", "/"}})->allowed &&
                     !engine->check({{"path", "/"}})->allowed && follower.allow();
  std::puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}
