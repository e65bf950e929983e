#include "library/promises.h"

#include <algorithm>
#include <utility>

namespace weir::library {

void Promises::add(std::uint64_t order, std::int64_t turn, Wide room, std::int64_t now) {
  if (now >= std::max(older_.turn, younger_.turn)) *this = Promises();
  if (now >= older_.turn) older_ = std::exchange(younger_, Ahead());
  before_ = younger_;
  younger_ = Ahead{std::max(younger_.turn, turn), order, std::min(younger_.room, room)};
}

Wide Promises::give_back(std::uint64_t order, Wide wanted, std::int64_t now) {
  Wide given = wanted;
  for (const Ahead& ahead : {older_, younger_}) {
    if (now < ahead.turn && order < ahead.order) given = std::min(given, ahead.room);
  }
  for (Ahead* ahead : {&older_, &younger_, &before_}) {
    if (order < ahead->order) ahead->room -= std::min(given, ahead->room);
  }
  rest_ += wanted - given;
  return given;
}

Wide Promises::withdraw(std::uint64_t order, std::int64_t now) {
  if (order != younger_.order || now >= younger_.turn) return 0;
  younger_ = before_;
  return give_back(0, std::exchange(rest_, 0), now);
}

void Promises::close() {
  older_.room = younger_.room = before_.room = 0;
}

}  // namespace weir::library
