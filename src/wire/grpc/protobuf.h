// Protocol buffers, as bytes: a reader of fields and a writer of them, for the few small messages
// that the gRPC listener speaks.
//
//   message = field*
//   field   = tag value             tag = varint(number << 3 | type)
//   type 0  = varint                7 bits a byte, lowest first, at most 10 bytes
//   type 1  = 8 bytes, type 5 = 4   little-endian
//   type 2  = varint length, bytes
//   type 3, 4                       begin and end of a group: skipped, at most 32 deep
//
// WHY by hand: the messages are few and flat, the reader is one loop that a fuzzer knows by heart,
// and neither generated code nor an arena stands between a frame and a decision.
//
// THREADS: plain values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::protobuf {

enum class Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  Type type = Type::kVarint;
  std::uint64_t value = 0;  // kVarint, kFixed64, kFixed32
  std::string_view bytes;   // kBytes

  bool is_bytes(std::uint32_t wanted) const { return number == wanted && type == Type::kBytes; }
  bool is_varint(std::uint32_t wanted) const { return number == wanted && type == Type::kVarint; }
};

class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}

  // The next field; false at the end, and for bytes that are no message: see failed().
  bool next(Field& field);
  bool failed() const { return failed_; }

 private:
  bool read_varint(std::uint64_t& value);
  bool read_tag(std::uint32_t& number, std::uint32_t& type);
  bool read_fixed(std::size_t size, std::uint64_t& value);
  bool read_value(std::uint32_t type, Field& field);
  bool skip_group(std::uint32_t number);
  bool fail();

  std::string_view rest_;
  bool failed_ = false;
};

// Appends to a string. Zero and empty values are left out, as proto3 does.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void number(std::uint32_t field, std::uint64_t value) {
    if (value == 0) return;
    if (!is_small(field) || value >= 0x80) return number_of_any_size(field, value);
    out_ += tag(field, Type::kVarint);
    out_ += static_cast<char>(value);
  }
  void text(std::uint32_t field, std::string_view value) {
    if (value.empty()) return;
    if (!is_small(field) || value.size() >= 0x80) return text_of_any_size(field, value);
    out_ += tag(field, Type::kBytes);
    out_ += static_cast<char>(value.size());
    out_ += value;
  }

  // A message within the message: what is written between open() and close() is its content.
  // Written even when it is empty. close() takes what open() returned, innermost first.
  std::size_t open(std::uint32_t field) {
    is_small(field) ? void(out_ += tag(field, Type::kBytes)) : tag_of_any_size(field);
    out_ += '\0';  // the length, where it fits into one byte: it mostly does
    return out_.size();
  }
  void close(std::size_t at) {
    const std::size_t size = out_.size() - at;
    if (size >= 0x80) return close_long(at, size);
    out_[at - 1] = static_cast<char>(size);
  }

 private:
  // Whether tag and number are one byte each: they mostly are.
  static constexpr bool is_small(std::uint32_t field) { return field < 16; }
  static constexpr char tag(std::uint32_t field, Type type) {
    return static_cast<char>(field << 3 | static_cast<std::uint32_t>(type));
  }
  void number_of_any_size(std::uint32_t field, std::uint64_t value);
  void text_of_any_size(std::uint32_t field, std::string_view value);
  void tag_of_any_size(std::uint32_t field);
  void close_long(std::size_t at, std::size_t size);

  std::string& out_;
};

}  // namespace weir::protobuf
