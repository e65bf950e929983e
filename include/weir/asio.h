// Waiting for a Limiter in coroutines of Boost.Asio. The one header of weir that names Asio; who
// includes it has it already.
//
//   weir::Verdict verdict = co_await weir::acquire(limiter, 1);
//
// First come, first served, together with the threads in Limiter::acquire(). Each coroutine is
// resumed once, when its turn has come. Cancelled, it leaves the queue, gives back what it held,
// and ends as Asio's operations do: with boost::system::system_error, operation_aborted.
//
// The limiter's clock must run as the machine's does (SystemClock, TscClock).
// REQUIRES: the limiter outlives the coroutine, whose executor is of one thread or a strand.

#pragma once

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "weir/clock.h"
#include "weir/limiter.h"

namespace weir {

// Refused at once where the turn is known to come after `deadline` (on the steady timeline of
// `clock`), or never; nothing is taken then.
inline boost::asio::awaitable<Verdict> acquire(Limiter& limiter, std::uint64_t cost = 1,
                                               std::optional<Instant> deadline = std::nullopt,
                                               const Clock& clock = system_clock()) {
  namespace asio = boost::asio;
  constexpr std::int64_t kLongest = 3'600'000'000'000;  // an hour; then it looks again
  const auto executor = co_await asio::this_coro::executor;
  // WHY shared: a wake that another thread has posted may run when the coroutine is gone.
  const auto timer = std::make_shared<asio::steady_timer>(executor);
  const std::weak_ptr<asio::steady_timer> wakes = timer;
  Waiter waiter = limiter.queue(
      cost, deadline,
      [executor, wakes] {
        asio::post(executor, [wakes] {
          if (const auto waking = wakes.lock()) waking->cancel();
        });
      },
      clock.now());
  for (;;) {
    const Instant now = clock.now();
    if (waiter.poll(now) != Waiter::State::kWaiting) co_return waiter.verdict();
    const std::int64_t wait_ns = waiter.wake_at_ns() - now.steady_ns;
    timer->expires_after(std::chrono::nanoseconds(std::clamp<std::int64_t>(wait_ns, 0, kLongest)));
    boost::system::error_code woken;
    co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      throw boost::system::system_error(asio::error::operation_aborted);
    }
  }
}

}  // namespace weir
