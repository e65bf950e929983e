// Replies: what a connection owes its client, in the order of its commands.
//
// A command writes its reply at once, or reserves its place and writes later. What stands before
// the first open place is ready to be sent. Sans-io: the session sends ready().
//
// THREADS: its session's loop.

#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace weir::resp {

class Replies {
 public:
  using Place = std::uint64_t;

  // Where a reply that is known now is appended.
  std::string& now() { return places_.empty() ? ready_ : places_.back().after; }

  // The place that the next reserve() keeps.
  Place next() const { return first_ + places_.size(); }

  // Keeps a place for a reply that comes later; what now() appends goes behind it.
  Place reserve() {
    places_.emplace_back();
    return first_ + places_.size() - 1;
  }

  // Where the reply of a reserved place is written. REQUIRES: not filled yet.
  std::string& at(Place place) { return places_[place - first_].reply; }

  // The reply of this place is written: moves what may go now to ready().
  void fill(Place place) {
    places_[place - first_].filled = true;
    while (!places_.empty() && places_.front().filled) {
      ready_ += places_.front().reply;
      ready_ += places_.front().after;
      places_.pop_front();
      ++first_;
    }
  }

  std::string& ready() { return ready_; }
  const std::string& ready() const { return ready_; }
  std::size_t waiting() const { return places_.size(); }

 private:
  struct Waiting {
    std::string reply;
    std::string after;  // replies known at once that stand behind it
    bool filled = false;
  };

  std::string ready_;
  std::deque<Waiting> places_;
  Place first_ = 0;  // the number of places_.front()
};

}  // namespace weir::resp
