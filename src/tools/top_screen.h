// TopScreen: what `weir top` shows: the answer of /v1/stats as lines for a terminal of a given
// size.
//
// THREADS: pure functions.

#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::tools {

enum class TopView { kLimits, kKeys };
enum class TopSort { kRate, kRefused, kLeft, kWait, kName };

std::string_view to_string(TopSort sort);

struct TopOptions {
  std::size_t columns = 80;
  std::size_t rows = 24;  // 0: as many as there is to show, and no word on keys to press
  TopView view = TopView::kLimits;
  TopSort sort = TopSort::kRate;
  bool reversed = false;
  std::string filter{};    // names that hold this, in any case
  bool typing = false;     // the filter is being written
  std::size_t scroll = 0;  // rows of the table that are passed over
  bool blocks = true;      // the terminal can show block characters
  std::string where{};     // whom was asked
  std::string trouble{};   // why there is no newer answer, or empty
};

// At most `rows` lines, none longer than `columns` characters and none with a control character.
// What the answer lacks shows as nothing. `stats` may be null: nothing has been told yet.
std::vector<std::string> top_screen(const boost::json::value& stats, const TopOptions& options);

// The refused keys as a table: a line each, under a head.
std::vector<std::string> key_table(const boost::json::value& stats, std::size_t columns);

}  // namespace weir::tools
