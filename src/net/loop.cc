#include "net/loop.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>

namespace weir::net {
namespace {

thread_local Loop* current_loop = nullptr;

}  // namespace

Loop* Loop::current() {
  return current_loop;
}

Loop::Loop(unsigned index) : index_(index), context_(1), poller_(context_) {
  timers_.attach(executor());
}

Loop::~Loop() {
  timers_.detach();
  context_.shutdown();  // what handlers hold, open streams too, goes while there is a poller
}

void Loop::run() {
  const auto work = asio::make_work_guard(context_);
  current_loop = this;
  context_.run();
  current_loop = nullptr;
}

void Loop::run_ready() {
  context_.restart();
  const auto work = asio::make_work_guard(context_);
  current_loop = this;
  context_.poll();
  current_loop = nullptr;
}

void Loop::run_until(const std::function<bool()>& done) {
  context_.restart();
  const auto work = asio::make_work_guard(context_);
  current_loop = this;
  while (!done()) context_.run_one();
  current_loop = nullptr;
}

Loops::Loops(std::size_t count) {
  for (std::size_t i = 0; i < std::max<std::size_t>(count, 1); ++i) {
    loops_.push_back(std::make_unique<Loop>(static_cast<unsigned>(i)));
  }
}

Loops::~Loops() {
  stop();
}

void Loops::start() {
  if (running()) return;
  for (const auto& loop : loops_) {
    loop->context().restart();
    threads_.emplace_back([&loop = *loop] { loop.run(); });
    const std::string name = "weir-loop-" + std::to_string(loop->index());
    pthread_setname_np(threads_.back().native_handle(), name.c_str());
  }
}

void Loops::stop() {
  for (const auto& loop : loops_) loop->stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::size_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;  // more than 1024 CPUs
  return static_cast<std::size_t>(std::max(CPU_COUNT(&set), 1));
}

std::size_t raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace weir::net
