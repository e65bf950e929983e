#include "base/json_fields.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <optional>

#include "base/json.h"

namespace weir {

namespace json = boost::json;

namespace {

constexpr std::size_t kMaxDepth = 32;

// The next token of a pointer, with ~1 and ~0 decoded; takes it off.
std::string take_token(std::string_view& pointer) {
  pointer.remove_prefix(1);  // the slash
  const std::string_view written = pointer.substr(0, pointer.find('/'));
  pointer.remove_prefix(written.size());
  std::string token;
  for (std::size_t i = 0; i < written.size(); ++i) {
    token += written[i] != '~' ? written[i] : written[++i] == '1' ? '/' : '~';
  }
  return token;
}

}  // namespace

std::string plain_number(double value) {
  char digits[400];  // the largest double has 309 before the point, the smallest 324 behind it
  return {digits,
          std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed).ptr};
}

// Told of a text piece by piece. `next_` is the place of the value that comes next, or kNone where
// no pointer leads.
class JsonFieldsHandler {
 public:
  static constexpr std::size_t max_object_size = SIZE_MAX;
  static constexpr std::size_t max_array_size = SIZE_MAX;
  static constexpr std::size_t max_key_size = SIZE_MAX;
  static constexpr std::size_t max_string_size = SIZE_MAX;

  using Code = json::error_code;

  JsonFieldsHandler(const JsonFields& fields, std::vector<JsonScalar>& values)
      : fields_(fields), values_(values), seen_(fields.places_.size()) {
    open_.reserve(8);
  }

  const std::optional<std::string>& twice() const { return twice_; }

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return open(false); }
  bool on_object_end(std::size_t, Code&) { return close(); }
  bool on_array_begin(Code&) { return open(true); }
  bool on_array_end(std::size_t, Code&) { return close(); }

  bool on_key_part(json::string_view part, std::size_t, Code&) {
    if (open_.back().place != JsonFields::kNone) key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, Code& code) {
    const std::size_t place = open_.back().place;
    if (place == JsonFields::kNone) return true;
    key_.append(part.data(), part.size());
    next_ = fields_.find_child(place, key_);
    const bool again = next_ != JsonFields::kNone && seen_[next_];
    if (again) {
      twice_ = key_;
      code = json::error::extra_data;  // any: read() looks at twice()
      return false;
    }
    if (next_ != JsonFields::kNone) seen_[next_] = true;
    key_.clear();
    return true;
  }

  bool on_string_part(json::string_view part, std::size_t, Code&) {
    begin_text();
    if (text_place_ != JsonFields::kNone) text_.append(part.data(), part.size());
    return true;
  }
  bool on_string(json::string_view part, std::size_t, Code&) {
    begin_text();
    in_text_ = false;
    if (text_place_ == JsonFields::kNone) return true;
    text_.append(part.data(), part.size());
    put(text_place_, JsonScalar::Kind::kString, text_, {});
    return true;
  }

  bool on_number_part(json::string_view part, Code&) {
    number_.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t, json::string_view part, Code&) { return end_number(part, {}); }
  bool on_uint64(std::uint64_t, json::string_view part, Code&) { return end_number(part, {}); }
  bool on_double(double value, json::string_view part, Code&) { return end_number(part, value); }

  bool on_bool(bool value, Code&) {
    put(take_place(), JsonScalar::Kind::kBool, value ? "true" : "false", {});
    return true;
  }
  bool on_null(Code&) {
    put(take_place(), JsonScalar::Kind::kNull, {}, {});
    return true;
  }
  bool on_comment_part(json::string_view, Code&) { return true; }
  bool on_comment(json::string_view, Code&) { return true; }

 private:
  struct Open {
    std::size_t place;
    bool array;
    std::size_t next_index;
  };

  // The place of the value that begins; of an array's, by its index.
  std::size_t take_place() {
    std::size_t place = std::exchange(next_, JsonFields::kNone);
    if (open_.empty()) return 0;
    Open& in = open_.back();
    if (!in.array || in.place == JsonFields::kNone) return place;
    char digits[20];
    const char* const end = std::to_chars(digits, digits + sizeof digits, in.next_index++).ptr;
    return fields_.find_child(in.place, {digits, static_cast<std::size_t>(end - digits)});
  }

  bool open(bool array) {
    const std::size_t place = take_place();
    put(place, JsonScalar::Kind::kNested, {}, {});
    open_.push_back({place, array, 0});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  void begin_text() {
    if (std::exchange(in_text_, true)) return;
    text_place_ = take_place();
    text_.clear();
  }

  // Whole numbers keep all their digits, those above 2^64 too, which come as a double.
  bool end_number(json::string_view part, std::optional<double> value) {
    number_.append(part.data(), part.size());
    const std::size_t place = take_place();
    if (place != JsonFields::kNone) {
      const bool digits = number_.find_first_of(".eE") == std::string::npos;
      put(place, JsonScalar::Kind::kNumber, digits || !value ? number_ : plain_number(*value),
          number_);
    }
    number_.clear();
    return true;
  }

  void put(std::size_t place, JsonScalar::Kind kind, std::string_view text,
           std::string_view number) {
    if (place == JsonFields::kNone) return;
    for (const std::size_t index : fields_.places_[place].values) {
      values_[index].kind = kind;
      values_[index].text = text;
      values_[index].number = number;
    }
  }

  const JsonFields& fields_;
  std::vector<JsonScalar>& values_;
  std::vector<bool> seen_;  // of places: a key has led there
  std::vector<Open> open_;
  std::size_t next_ = JsonFields::kNone;
  std::size_t text_place_ = JsonFields::kNone;
  bool in_text_ = false;
  std::string key_;
  std::string text_;
  std::string number_;
  std::optional<std::string> twice_;
};

void JsonScalar::clear() {
  kind = Kind::kAbsent;
  text.clear();
  number.clear();
}

void append_json(std::string& out, const JsonScalar& value) {
  if (value.kind == JsonScalar::Kind::kString) {
    append_json_string(out, value.text);
  } else if (value.kind == JsonScalar::Kind::kNumber) {
    out += value.number;
  } else {
    out += value.has_text() ? value.text : "null";
  }
}

JsonFields::JsonFields(const std::vector<std::string>& pointers)
    : places_(1), size_(pointers.size()) {
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    std::size_t place = 0;
    for (std::string_view rest = pointers[i]; !rest.empty();) {
      const std::string token = take_token(rest);
      std::size_t child = find_child(place, token);
      if (child == kNone) {
        child = places_.size();
        places_.emplace_back();
        places_[place].children.emplace_back(token, child);
      }
      place = child;
    }
    places_[place].values.push_back(i);
  }
}

std::size_t JsonFields::find_child(std::size_t place, std::string_view token) const {
  for (const auto& [name, child] : places_[place].children) {
    if (name == token) return child;
  }
  return kNone;
}

Result<bool> JsonFields::read(std::string_view text, std::vector<JsonScalar>& values) const {
  values.resize(size_);
  for (JsonScalar& value : values) value.clear();
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::basic_parser<JsonFieldsHandler> parser(options, *this, values);
  json::error_code code;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
  if (parser.handler().twice()) {
    return Error{ErrorCode::kInvalid, "key '" + *parser.handler().twice() + "' stands twice"};
  }
  if (!code && used < text.size()) code = json::error::extra_data;
  if (code) {
    return Error{ErrorCode::kInvalid,
                 "not JSON at byte " + std::to_string(used) + ": " + code.message()};
  }
  return true;
}

}  // namespace weir
