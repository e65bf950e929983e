// Promises: what a lone bucket has promised for later, and how much of it may still be given back.
//
// A reservation keeps the turn that it was told. Whoever gives back tokens that were taken before
// it makes those who come next act earlier, but not that reservation: beyond some amount they would
// act together with it, and more than the bucket holds. With
//
//   end     the moment at which the bucket has paid all that was taken
//   floor   turn + its cost + all that was taken after it, as a moment
//
// the limit holds from a giving back on while end >= floor for every turn ahead. Their difference,
// the room, never shrinks by taking. WHY only the least of many is kept, of two generations (as the
// older's turns have passed, the younger becomes it): so it takes no memory for each reservation.
// It is never more than the exact room, and less only behind long queues.
//
// Amounts are ticks (bucket.h). No clock, no lock. THREADS: plain values.

#pragma once

#include <cstdint>

#include "base/wide.h"
#include "limit/state.h"

namespace weir::library {

class Promises {
 public:
  // Number `order` acts at `turn`, when the bucket still owes `room` beside what this one takes.
  // REQUIRES: turn > now, and the orders rise, from 1 on.
  void add(std::uint64_t order, std::int64_t turn, Wide room, std::int64_t now);

  // How much of `wanted`, taken as number `order`, may be given back at `now`. The rest is kept in
  // mind as long as somebody's turn is ahead.
  Wide give_back(std::uint64_t order, Wide wanted, std::int64_t now);

  // Number `order` will not act: how much of the rest may be given back now that it is gone. Known
  // for the last one that was added.
  Wide withdraw(std::uint64_t order, std::int64_t now);

  // The numbers change: those whose turn is ahead leave no room any more.
  void close();

 private:
  struct Ahead {
    std::int64_t turn = limit::kEarliestNs;  // the latest
    std::uint64_t order = 0;                 // the latest
    Wide room = ~Wide{0};                    // the least
  };

  Ahead older_;
  Ahead younger_;
  Ahead before_;  // what `younger_` was before the last one
  Wide rest_ = 0;
};

}  // namespace weir::library
