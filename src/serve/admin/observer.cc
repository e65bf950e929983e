#include "serve/admin/observer.h"

#include "base/seconds.h"
#include "serve/http/problem.h"

namespace weir::admin {
namespace {

constexpr std::int64_t kEveryNs = kNsPerSecond;

}  // namespace

Observer::Observer(const Clock& clock, std::function<void(Instant)> tick)
    : clock_(clock), tick_(std::move(tick)), thread_([this] { work(); }) {}

Observer::~Observer() {
  stopping_.store(true);
  parking_.wake();
  thread_.join();
  do_tasks();
}

void Observer::run(const http::Request& request, http::Response& response, http::Done done,
                   std::function<void(http::Response&)> fill) {
  net::Loop* const loop = request.loop;
  {
    std::lock_guard lock(mutex_);
    if (tasks_.size() < kMaxTasks) {
      tasks_.push_back([loop, &response, done = std::move(done), fill = std::move(fill)]() mutable {
        fill(response);
        loop->post(std::move(done));
      });
      parking_.wake();
      return;
    }
  }
  http::set_problem(response, 503, "too many are asking at once; ask again in a second");
  response.add_header("Retry-After", "1");
  done();
}

void Observer::work() {
  std::int64_t due = clock_.steady_ns();
  while (!stopping_.load()) {
    const Instant now = clock_.now();
    if (now.steady_ns >= due) {
      tick_(now);
      due = now.steady_ns + kEveryNs;
    }
    do_tasks();
    clock_.park(parking_, due);
  }
}

void Observer::do_tasks() {
  while (true) {
    std::function<void()> task;
    {
      std::lock_guard lock(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace weir::admin
