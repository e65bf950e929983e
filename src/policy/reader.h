// Reader: what every part of the schema needs while it walks the tree: where to tell mistakes and
// doubts, and how to read single values.
//
// Each read_* tells the mistake itself and returns whether the value was right; a value that was
// told wrong before (an unset variable) is false without a word. Messages start with the key's
// name: "burst is '1e3', wants a whole number in plain digits".
//
// THREADS: one.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/diagnostic.h"
#include "policy/feature.h"
#include "policy/node.h"
#include "policy/scalar.h"
#include "policy/words.h"
#include "weir/time.h"

namespace weir::policy {

class Reader {
 public:
  Reader(Source& source, Diagnostics& mistakes, Diagnostics& doubts)
      : source_(source), mistakes_(mistakes), doubts_(doubts) {}

  void mistake(Position at, std::string message, std::string help = "");
  // A mistake in the text of entry's scalar: "<key> <message>", the caret at the offset.
  void mistake(const Entry& entry, const ScalarError& error);
  void doubt(Position at, std::string message, std::string help = "");
  // Nothing if the feature is built; else "<name> is not built yet".
  void refuse_unbuilt(Feature feature, Position at);
  // The scalar is a secret: never printed, by whatever mistake stands in its line.
  void hide(const Node& node);
  std::size_t mistakes() const { return mistakes_.count(); }

 private:
  Source& source_;
  Diagnostics& mistakes_;
  Diagnostics& doubts_;
};

template <typename T>
struct Range {
  T least;
  T most;
};

// The scalar's text, or nullptr after telling the mistake: "<key> is a list, wants <wants>".
const std::string* read_scalar(Reader& reader, const Entry& entry, std::string_view wants);

bool read_text(Reader& reader, const Entry& entry, std::string& out);
bool read_path(Reader& reader, const Entry& entry, std::string& out);  // of a file
bool read_name(Reader& reader, const Entry& entry, std::string& out);  // [A-Za-z0-9_.-]{1,64}
bool read_bool(Reader& reader, const Entry& entry, bool& out);
bool read_count(Reader& reader, const Entry& entry, std::uint64_t& out,
                Range<std::uint64_t> range = {0, kLargestCount});
bool read_size(Reader& reader, const Entry& entry, std::uint64_t& out, Range<std::uint64_t> range);
bool read_rate(Reader& reader, const Entry& entry, RateText& out);
bool read_duration(Reader& reader, const Entry& entry, Duration& out, Range<Duration> range,
                   std::string_view help_for_zero = "");

// The mapping, or nullptr after telling the mistake.
const Node* read_mapping(Reader& reader, const Entry& entry);
// The items as entries named like the list; empty after telling the mistake. `wants` is an example.
std::vector<Entry> read_items(Reader& reader, const Entry& entry, std::string_view wants);

// The same for smaller integers, and words of a closed set.
template <typename T>
bool read_number(Reader& reader, const Entry& entry, T& out, Range<std::uint64_t> range) {
  std::uint64_t wide = 0;
  if (!read_count(reader, entry, wide, range)) return false;
  out = static_cast<T>(wide);
  return true;
}

template <typename T>
using Words = std::span<const std::pair<std::string_view, T>>;

// The index of the word that `text` is, or -1 after telling the mistake with the nearest word.
int read_word(Reader& reader, const Entry& entry, const std::vector<std::string_view>& words);

template <typename T>
bool read_enum(Reader& reader, const Entry& entry, Words<T> words, T& out) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : words) names.push_back(name);
  const int index = read_word(reader, entry, names);
  if (index < 0) return false;
  out = words[static_cast<std::size_t>(index)].second;
  return true;
}

// "did you mean rate?", or "" where nothing is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace weir::policy
