// Windows of the calendar in a time zone: minute, hour, day, week (from Monday), month, year.
//
// A day is as long as the zone's clocks make it: 23 or 25 hours where they change. It begins with
// the first moment that has its date, so a midnight that the clocks skip begins when they go on,
// and one that they pass twice the first time. Minutes and hours never span a change of the
// clocks: the one in which it happens is cut short there.
//
// Zones come from the system's tzdata, through Howard Hinnant's date library. That reads changes up
// to 2037; after it a zone keeps its last offset.
//
// THREADS: immutable; any.

#pragma once

#include <cstdint>

#include "weir/numbers.h"
#include "weir/result.h"

namespace date {
class time_zone;
}

namespace weir::limit {

class CalendarWindows {
 public:
  // [start, end) in nanoseconds of the wall clock.
  struct Span {
    std::int64_t start = 0;
    std::int64_t end = 0;
  };

  // ERRORS: kInvalid where the system has no such time zone.
  static Result<CalendarWindows> make(const Calendar& calendar);

  // The window that holds `now`. REQUIRES: `now` within reach (state.h).
  Span holding(std::int64_t now) const;

 private:
  CalendarWindows(CalendarUnit unit, const date::time_zone* zone) : unit_(unit), zone_(zone) {}

  CalendarUnit unit_;
  const date::time_zone* zone_;  // belongs to the library's database, which is never reloaded
};

}  // namespace weir::limit
