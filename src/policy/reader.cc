#include "policy/reader.h"

#include "policy/format.h"
#include "policy/place.h"

namespace weir::policy {
namespace {

// "a list", for messages; "" for what needs no word.
std::string_view kind_word(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "empty";
    case Node::Kind::kSequence:
      return "a list";
    case Node::Kind::kMapping:
      return "a mapping";
    case Node::Kind::kScalar:
      return "a single value";
    case Node::Kind::kFaulty:
      return "";
  }
  return "";
}

// An empty value has no place of its own: its key has.
Position value_place(const Entry& entry) {
  return entry.value->kind == Node::Kind::kNull ? entry.at : entry.value->at;
}

void wrong_kind(Reader& reader, const Entry& entry, std::string_view wants, std::string help = "") {
  if (entry.value->kind == Node::Kind::kFaulty) return;
  reader.mistake(
      value_place(entry),
      entry.key + " is " + std::string(kind_word(*entry.value)) + ", wants " + std::string(wants),
      std::move(help));
}

// Numbers and booleans: text with quotes is text.
const std::string* read_bare_scalar(Reader& reader, const Entry& entry, std::string_view wants) {
  const std::string* text = read_scalar(reader, entry, wants);
  if (text == nullptr || entry.value->form != Node::Form::kQuoted) return text;
  reader.mistake(entry.value->at, entry.key + " is the text " + quote(*text) + ", wants " +
                                      std::string(wants) + " without quotes");
  return nullptr;
}

// A value from a variable is named by the variable, never shown.
ScalarError without_value(const Entry& entry, ScalarError error, std::string_view wants) {
  if (entry.value->form != Node::Form::kExpanded) return error;
  return {"is not right as " + std::string(entry.value->written) + " expands, wants " +
              std::string(wants),
          0};
}

template <typename T>
bool settle(Reader& reader, const Entry& entry, Parsed<T> parsed, std::string_view wants, T& out) {
  if (auto* error = std::get_if<ScalarError>(&parsed)) {
    reader.mistake(entry, without_value(entry, *error, wants));
    return false;
  }
  out = std::get<T>(std::move(parsed));
  return true;
}

bool in_range(Reader& reader, const Entry& entry, bool right, const std::string& least,
              const std::string& most) {
  if (right) return true;
  const std::string bound = most.empty() ? "at least " + least : least + " to " + most;
  reader.mistake(entry.value->at,
                 entry.key + " is " + std::string(entry.value->shown()) + ", wants " + bound);
  return false;
}

}  // namespace

void Reader::mistake(Position at, std::string message, std::string help) {
  mistakes_.add(at, std::move(message), std::move(help));
}

void Reader::mistake(const Entry& entry, const ScalarError& error) {
  mistakes_.add(place_in_scalar(source_, *entry.value, error.offset),
                entry.key + " " + error.message);
}

void Reader::doubt(Position at, std::string message, std::string help) {
  doubts_.add(at, std::move(message), std::move(help));
}

void Reader::refuse_unbuilt(Feature feature, Position at) {
  const auto name = not_yet(feature);
  if (name) mistakes_.add(at, std::string(*name) + " is not built yet, leave it out");
}

void Reader::hide(const Node& node) {
  if (!node.is_scalar()) return;
  const std::string& text = node.form == Node::Form::kExpanded ? node.written : node.text;
  const Position begin = place_in_scalar(source_, node, 0);
  const Position end = place_in_scalar(source_, node, text.size());
  const std::size_t byte = source_.byte_of_column(begin.line, begin.column);
  // To the end of the line where the text stands otherwise than it is: better too much.
  const std::size_t stop = end == node.at && !text.empty()
                               ? source_.line(begin.line).size()
                               : source_.byte_of_column(end.line, end.column);
  source_.hide(begin, stop - byte);
}

const std::string* read_scalar(Reader& reader, const Entry& entry, std::string_view wants) {
  if (entry.value->is_scalar()) return &entry.value->text;
  wrong_kind(reader, entry, wants);
  return nullptr;
}

bool read_text(Reader& reader, const Entry& entry, std::string& out) {
  const std::string* text = read_scalar(reader, entry, "text");
  if (text == nullptr) return false;
  out = *text;
  return true;
}

// WHY not left to who opens it: it would open another file, whose name ends at the NUL.
bool read_path(Reader& reader, const Entry& entry, std::string& out) {
  if (!read_text(reader, entry, out)) return false;
  if (out.find('\0') == std::string::npos) return true;
  reader.mistake(entry.value->at, entry.key + " holds a NUL, which no path does");
  out.clear();
  return false;
}

bool read_name(Reader& reader, const Entry& entry, std::string& out) {
  constexpr std::string_view kWants = "a name of 1 to 64 letters, digits, _, . and -";
  const std::string* text = read_scalar(reader, entry, kWants);
  if (text == nullptr) return false;
  if (!is_name(*text)) {
    reader.mistake(entry.value->at, entry.key + " is " + quote(entry.value->shown()) + ", wants " +
                                        std::string(kWants));
    return false;
  }
  out = *text;
  return true;
}

bool read_bool(Reader& reader, const Entry& entry, bool& out) {
  const std::string* text = read_bare_scalar(reader, entry, "true or false");
  if (text == nullptr) return false;
  const bool yes = *text == "true" || *text == "True" || *text == "TRUE";
  const bool no = *text == "false" || *text == "False" || *text == "FALSE";
  if (!yes && !no) {
    reader.mistake(entry.value->at,
                   entry.key + " is " + quote(entry.value->shown()) + ", wants true or false");
    return false;
  }
  out = yes;
  return true;
}

bool read_count(Reader& reader, const Entry& entry, std::uint64_t& out,
                Range<std::uint64_t> range) {
  constexpr std::string_view kWants = "a whole number";
  const std::string* text = read_bare_scalar(reader, entry, kWants);
  std::uint64_t value = 0;
  if (text == nullptr || !settle(reader, entry, parse_count(*text), kWants, value)) return false;
  const bool right = value >= range.least && value <= range.most;
  const std::string most = range.most == kLargestCount ? "" : std::to_string(range.most);
  if (!in_range(reader, entry, right, std::to_string(range.least), most)) return false;
  out = value;
  return true;
}

bool read_size(Reader& reader, const Entry& entry, std::uint64_t& out, Range<std::uint64_t> range) {
  constexpr std::string_view kWants = "a size such as 1MiB";
  const std::string* text = read_scalar(reader, entry, kWants);
  std::uint64_t value = 0;
  if (text == nullptr || !settle(reader, entry, parse_size(*text), kWants, value)) return false;
  const bool right = value >= range.least && value <= range.most;
  if (!in_range(reader, entry, right, std::to_string(range.least) + " bytes",
                std::to_string(range.most) + " bytes")) {
    return false;
  }
  out = value;
  return true;
}

bool read_rate(Reader& reader, const Entry& entry, RateText& out) {
  constexpr std::string_view kWants = "a rate such as 10/s";
  const std::string* text = read_scalar(reader, entry, kWants);
  return text != nullptr && settle(reader, entry, parse_rate(*text), kWants, out);
}

bool read_duration(Reader& reader, const Entry& entry, Duration& out, Range<Duration> range,
                   std::string_view help_for_zero) {
  constexpr std::string_view kWants = "a duration such as 60s";
  const std::string* text = read_scalar(reader, entry, kWants);
  Duration value{0};
  if (text == nullptr || !settle(reader, entry, parse_duration(*text), kWants, value)) return false;
  if (value.count() == 0 && range.least.count() > 0) {
    reader.mistake(entry.value->at,
                   entry.key + " is " + std::string(entry.value->shown()) + ", must be more than 0",
                   std::string(help_for_zero));
    return false;
  }
  const std::string most = range.most == kLongestDuration ? "" : format_duration(range.most);
  if (!in_range(reader, entry, value >= range.least && value <= range.most,
                format_duration(range.least), most)) {
    return false;
  }
  out = value;
  return true;
}

const Node* read_mapping(Reader& reader, const Entry& entry) {
  if (entry.value->kind == Node::Kind::kMapping) return entry.value.get();
  wrong_kind(reader, entry, "a mapping of keys to values");
  return nullptr;
}

std::vector<Entry> read_items(Reader& reader, const Entry& entry, std::string_view wants) {
  std::vector<Entry> out;
  if (entry.value->kind != Node::Kind::kSequence) {
    wrong_kind(reader, entry, wants);
    return out;
  }
  for (const NodePtr& item : entry.value->items) {
    out.push_back({entry.key, item->at.line > 0 ? item->at : entry.at, item});
  }
  return out;
}

int read_word(Reader& reader, const Entry& entry, const std::vector<std::string_view>& words) {
  const std::string allowed = join_words(words);
  const std::string* text = read_scalar(reader, entry, allowed);
  if (text == nullptr) return -1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (*text == words[i]) return static_cast<int>(i);
  }
  const std::string near = suggestion(*text, words);
  reader.mistake(entry.value->at, entry.key + " is " + quote(entry.value->shown()) + ", wants " +
                                      allowed + (near.empty() ? "" : "; " + near));
  return -1;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = nearest_word(word, candidates);
  return near.empty() ? "" : "did you mean " + std::string(near) + "?";
}

}  // namespace weir::policy
