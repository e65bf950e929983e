// A store that answers when a test says so. Tests only.

#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "net/loop.h"
#include "store/store.h"

namespace weir::testing {

class LateStore final : public store::Store {
 public:
  explicit LateStore(store::Store& inner) : inner_(inner) {}

  void charge(std::span<const store::Charge> charges, Instant now, std::span<store::Answer> answers,
              Done done) override {
    const std::lock_guard lock(mutex_);
    waiting_.push_back([=, this, done = std::move(done)] {
      if (fails_) {
        for (store::Answer& answer : answers) answer.known = false;
        done({true, now});
      } else {
        inner_.charge(charges, now, answers, done);
      }
    });
  }
  void correct(std::span<const store::Charge> charges, const std::optional<store::Once>& once,
               Instant now, Corrected told) override {
    inner_.correct(charges, once, now, std::move(told));
  }
  void reset(std::span<const store::Charge> charges, Corrected told) override {
    inner_.reset(charges, std::move(told));
  }

  void fail() { fails_ = true; }
  // Answers the oldest question, once it has been asked.
  void answer_one(net::Loop& loop) {
    std::function<void()> next;
    for (int i = 0; i < 5000 && !next; ++i) {
      const std::unique_lock lock(mutex_);
      if (waiting_.empty()) {
        ::poll(nullptr, 0, 1);
        continue;
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    ASSERT_TRUE(next) << "nothing was asked";
    loop.post(std::move(next));
  }

 private:
  store::Store& inner_;
  std::mutex mutex_;
  std::deque<std::function<void()>> waiting_;
  std::atomic<bool> fails_ = false;
};

}  // namespace weir::testing
