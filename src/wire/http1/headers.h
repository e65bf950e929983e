// Headers: the fields of a head, as views into the bytes that were parsed.
//
// Names compare without case. A name that stands twice is told from one that stands once, since
// what reads the first and what reads the last must not be made to disagree. Well-known names are
// recognised while parsing and found without comparing text.
//
// Names and values live as long as the parsed bytes; the list as long as its parser.
// THREADS: plain values.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

namespace weir::http1 {

// The names that decide how a message is framed or passed on.
enum class HeaderId : std::uint8_t {
  kOther,
  kConnection,
  kContentLength,
  kContentType,
  kCookie,
  kDate,
  kExpect,
  kHost,
  kKeepAlive,
  kProxyAuthenticate,
  kProxyAuthorization,
  kProxyConnection,
  kTe,
  kTrailer,
  kTransferEncoding,
  kUpgrade,
  kVia,
};

inline constexpr std::size_t kHeaderIds = 17;

HeaderId identify(std::string_view name);

// Whether any well-known name has this many bytes: what spares most names the look.
inline bool may_be_known(std::size_t size) {
  constexpr std::uint32_t kSizes = 1u << 2 | 1u << 3 | 1u << 4 | 1u << 6 | 1u << 7 | 1u << 10 |
                                   1u << 12 | 1u << 14 | 1u << 16 | 1u << 17 | 1u << 18 | 1u << 19;
  return size < 20 && (kSizes >> size & 1) != 0;
}

// Whether a field belongs to one connection and not to the message (RFC 9110 section 7.6.1): the
// fixed names only; those that a Connection field lists are asked with Headers::lists.
// Transfer-Encoding and Trailer are among them, Content-Length and Host are not.
bool is_hop_by_hop(HeaderId id);

struct Header {
  std::string_view name;   // as sent, a token
  std::string_view value;  // without blanks around it; no control bytes but tab
  HeaderId id = HeaderId::kOther;
};

// What a look-up by name found: how often the name stands, and its first value.
struct Found {
  std::string_view value;
  std::uint32_t count = 0;

  explicit operator bool() const { return count != 0; }
  bool repeated() const { return count > 1; }
};

// Where a field stands in the parsed bytes. Offsets, so that a buffer may move while it grows.
struct FieldSlot {
  std::uint32_t name_begin = 0;
  std::uint32_t value_begin = 0;
  std::uint32_t value_size = 0;
  std::uint16_t name_size = 0;
  HeaderId id = HeaderId::kOther;
};

// All fields of a head, and where each well-known name stands first.
struct FieldTable {
  explicit FieldTable(std::uint32_t max) : slots(max) {}

  std::vector<FieldSlot> slots;  // as many as there may be; `size` of them are in use
  std::uint32_t size = 0;
  std::uint32_t seen = 0;                       // a bit for each HeaderId
  std::uint32_t repeated = 0;                   // those that stand more than once
  std::array<std::uint32_t, kHeaderIds> first;  // of those seen: an index into slots

  bool full() const { return size == slots.size(); }
  // The slot to fill next, then to keep. REQUIRES: !full().
  // WHY in place: a slot filled elsewhere and copied stalls, as its copy is read in wider pieces
  // than it was written in.
  FieldSlot& next() { return slots[size]; }
  void keep_next();
  void clear() { size = seen = repeated = 0; }
};

class Headers {
 public:
  Headers() = default;
  Headers(const char* base, const FieldTable& table) : base_(base), table_(&table) {}

  std::size_t size() const { return table_ == nullptr ? 0 : table_->size; }
  bool empty() const { return size() == 0; }

  // REQUIRES: index < size().
  Header operator[](std::size_t index) const {
    const FieldSlot& slot = table_->slots[index];
    return {{base_ + slot.name_begin, slot.name_size},
            {base_ + slot.value_begin, slot.value_size},
            slot.id};
  }

  bool has(HeaderId id) const { return table_ != nullptr && (table_->seen & bit(id)) != 0; }
  bool repeated(HeaderId id) const {
    return table_ != nullptr && (table_->repeated & bit(id)) != 0;
  }
  // REQUIRES: id is not kOther.
  Found find(HeaderId id) const {
    if (!has(id)) return {};
    const std::size_t first = table_->first[static_cast<std::size_t>(id)];
    return {(*this)[first].value, repeated(id) ? count_from(first) : 1};
  }
  Found find(std::string_view name) const;

  // Whether a comma-separated list field (all its lines) names the token, compared without case:
  // lists(HeaderId::kConnection, "close").
  bool lists(HeaderId id, std::string_view token) const;

  static constexpr std::uint32_t bit(HeaderId id) { return 1u << static_cast<unsigned>(id); }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Header;
    using difference_type = std::ptrdiff_t;
    using pointer = const Header*;
    using reference = Header;

    Iterator(const Headers* headers, std::size_t index) : headers_(headers), index_(index) {}
    Header operator*() const { return (*headers_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Headers* headers_;
    std::size_t index_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  std::uint32_t count_from(std::size_t first) const;

  const char* base_ = nullptr;
  const FieldTable* table_ = nullptr;
};

inline void FieldTable::keep_next() {
  const HeaderId id = slots[size].id;
  const std::uint32_t bit = Headers::bit(id);
  if ((seen & bit) == 0) {
    seen |= bit;
    first[static_cast<std::size_t>(id)] = size;
  } else {
    repeated |= bit;
  }
  ++size;
}

// Whether the connection outlives the message, as its Connection fields and version say.
bool keeps_alive(const Headers& headers, int minor_version);

// Walks a comma-separated list: the next member without blanks around it, which may be empty.
// Quoted strings are not looked into: the lists read here (Connection, Transfer-Encoding, Upgrade)
// have none. REQUIRES: !list.empty(). Takes the member and its comma off the front.
std::string_view next_list_member(std::string_view& list);

bool list_has(std::string_view list, std::string_view token);

}  // namespace weir::http1
