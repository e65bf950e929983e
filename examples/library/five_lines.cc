// Ten calls a second, twenty at once.

#include <weir/limiter.h>

#include <cstdio>

int main() {
  auto limiter = weir::Limiter::make(weir::TokenBucket{{.count = 10}, 20});
  int allowed = 0;
  for (int i = 0; i < 100; ++i) allowed += limiter->allow();
  std::printf("%d of 100 calls allowed\n", allowed);
}
