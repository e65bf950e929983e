#include "base/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>
#include <boost/json/value_stack.hpp>
#include <set>
#include <vector>

#include "base/hex.h"
#include "base/utf8.h"

namespace weir {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 32;

// The keys of one open object. Few are compared with each other; many are sorted: a hostile text
// would else take the square of their number.
class Keys {
 public:
  // False where it is there already.
  bool add(const std::string& key) {
    if (few_.size() < kFew) {
      if (std::find(few_.begin(), few_.end(), key) != few_.end()) return false;
      few_.push_back(key);
      if (few_.size() == kFew) many_.insert(few_.begin(), few_.end());
      return true;
    }
    return many_.insert(key).second;
  }

 private:
  static constexpr std::size_t kFew = 16;
  std::vector<std::string> few_;
  std::set<std::string> many_;
};

// Builds a value and keeps, for each open object, the keys seen so far.
struct Handler {
  static constexpr std::size_t max_object_size = 1 << 20;
  static constexpr std::size_t max_array_size = 1 << 20;
  static constexpr std::size_t max_key_size = 1 << 20;
  static constexpr std::size_t max_string_size = 1 << 24;

  using Code = json::error_code;

  json::value_stack stack;
  std::vector<Keys> keys;
  std::string key;
  std::string duplicate;

  bool on_document_begin(Code&) {
    stack.reset();
    return true;
  }
  bool on_document_end(Code&) { return true; }

  bool on_object_begin(Code&) {
    keys.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t n, Code&) {
    keys.pop_back();
    stack.push_object(n);
    return true;
  }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(std::size_t n, Code&) {
    stack.push_array(n);
    return true;
  }

  bool on_key_part(json::string_view part, std::size_t, Code&) {
    key.append(part.data(), part.size());
    stack.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, Code& code) {
    key.append(part.data(), part.size());
    stack.push_key(part);
    return remember_key(code);
  }

  bool on_string_part(json::string_view part, std::size_t, Code&) {
    stack.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, Code&) {
    stack.push_string(part);
    return true;
  }
  bool on_number_part(json::string_view, Code&) { return true; }
  bool on_int64(std::int64_t value, json::string_view, Code&) {
    stack.push_int64(value);
    return true;
  }
  bool on_uint64(std::uint64_t value, json::string_view, Code&) {
    stack.push_uint64(value);
    return true;
  }
  bool on_double(double value, json::string_view, Code&) {
    stack.push_double(value);
    return true;
  }
  bool on_bool(bool value, Code&) {
    stack.push_bool(value);
    return true;
  }
  bool on_null(Code&) {
    stack.push_null();
    return true;
  }
  bool on_comment_part(json::string_view, Code&) { return true; }
  bool on_comment(json::string_view, Code&) { return true; }

 private:
  bool remember_key(Code& code) {
    if (!keys.back().add(key)) {
      duplicate = key;
      code = json::error::extra_data;  // any: the caller looks at `duplicate`
      return false;
    }
    key.clear();
    return true;
  }
};

}  // namespace

Result<json::value> parse_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::basic_parser<Handler> parser(options);
  json::error_code code;
  try {
    const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
    if (!code && used < text.size()) code = json::error::extra_data;
    if (!parser.handler().duplicate.empty()) {
      return Error{ErrorCode::kInvalid, "key '" + parser.handler().duplicate + "' stands twice"};
    }
    if (code) {
      return Error{ErrorCode::kInvalid,
                   "not JSON at byte " + std::to_string(used) + ": " + code.message()};
    }
    return parser.handler().stack.release();
  } catch (const std::exception& error) {  // out of memory, a size past Boost.JSON's own bounds
    return Error{ErrorCode::kInvalid, std::string("not JSON: ") + error.what()};
  }
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i];
    } else if (c < 0x20) {
      out += "\\u00";
      append_hex_byte(out, text[i]);
    } else {
      out.append(text, i, length);
    }
    i += length == 0 ? 1 : length;
  }
  out += '"';
}

}  // namespace weir
