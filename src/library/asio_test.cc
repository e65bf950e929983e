#include "weir/asio.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <vector>

namespace weir {
namespace {

namespace asio = boost::asio;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

asio::awaitable<void> take(Limiter& limiter, int name, std::vector<int>& order) {
  const Verdict verdict = co_await acquire(limiter);
  EXPECT_TRUE(verdict.allowed());
  order.push_back(name);
}

TEST(Asio, ServesCoroutinesInTheOrderTheyCame) {
  asio::io_context loop;
  Limiter limiter = *Limiter::make(TokenBucket{{50, seconds(1)}, 1});
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) asio::co_spawn(loop, take(limiter, i, order), asio::detached);
  loop.run();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(Asio, ACancelledCoroutineGivesBackAndThoseBehindMoveUp) {
  asio::io_context loop;
  Limiter limiter = *Limiter::make(TokenBucket{{1, hours(1)}, 2});
  limiter.drain();
  limiter.refund(1);
  asio::cancellation_signal stop;
  bool aborted = false;
  const auto wait_for_two = [&]() -> asio::awaitable<void> { co_await acquire(limiter, 2); };
  asio::co_spawn(loop, wait_for_two(),
                 asio::bind_cancellation_slot(
                     stop.slot(), [&](std::exception_ptr error) { aborted = error != nullptr; }));
  std::vector<int> order;
  asio::co_spawn(loop, take(limiter, 1, order), asio::detached);
  loop.poll();
  EXPECT_TRUE(order.empty()) << "behind one who waits for an hour";
  stop.emit(asio::cancellation_type::all);
  loop.run();
  EXPECT_TRUE(aborted);
  EXPECT_EQ(order, std::vector<int>{1});
}

TEST(Asio, RefusesAtOnceWhatComesAfterTheDeadline) {
  asio::io_context loop;
  Limiter limiter = *Limiter::make(TokenBucket{{1, hours(1)}, 1});
  limiter.drain();
  Outcome outcome = Outcome::kAllowed;
  const auto hurry = [&]() -> asio::awaitable<void> {
    const Instant deadline = system_clock().now() + milliseconds(1);
    const Verdict verdict = co_await acquire(limiter, 1, deadline);
    outcome = verdict.outcome;
  };
  asio::co_spawn(loop, hurry(), asio::detached);
  loop.run();
  EXPECT_EQ(outcome, Outcome::kDenied);
}

}  // namespace
}  // namespace weir
