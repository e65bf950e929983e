// Headers: the fields of a head, as views into the bytes that were parsed.
//
// Names compare without case. A name that stands twice is told from one that stands once, since
// what reads the first and what reads the last must not be made to disagree. Well-known names are
// recognised while parsing and found without comparing text.
//
// Names and values live as long as the parsed bytes; the list as long as its parser.
// THREADS: plain values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

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

HeaderId identify(std::string_view name);

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

class Headers {
 public:
  Headers() = default;
  Headers(const char* base, const FieldSlot* slots, std::uint32_t size, std::uint32_t seen)
      : base_(base), slots_(slots), size_(size), seen_(seen) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // REQUIRES: index < size().
  Header operator[](std::size_t index) const {
    const FieldSlot& slot = slots_[index];
    return {{base_ + slot.name_begin, slot.name_size},
            {base_ + slot.value_begin, slot.value_size},
            slot.id};
  }

  bool has(HeaderId id) const { return (seen_ & bit(id)) != 0; }
  // REQUIRES: id is not kOther.
  Found find(HeaderId id) const;
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
  Iterator end() const { return {this, size_}; }

 private:
  const char* base_ = nullptr;
  const FieldSlot* slots_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t seen_ = 0;
};

// Whether the connection outlives the message, as its Connection fields and version say.
bool keeps_alive(const Headers& headers, int minor_version);

// Walks a comma-separated list: the next member without blanks around it, which may be empty.
// Quoted strings are not looked into: the lists read here (Connection, Transfer-Encoding, Upgrade)
// have none. REQUIRES: !list.empty(). Takes the member and its comma off the front.
std::string_view next_list_member(std::string_view& list);

bool list_has(std::string_view list, std::string_view token);

}  // namespace weir::http1
