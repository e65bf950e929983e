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

  void number(std::uint32_t field, std::uint64_t value);
  void text(std::uint32_t field, std::string_view value);

  // A message within the message: what is written between open() and close() is its content.
  // Written even when it is empty. close() takes what open() returned, innermost first.
  std::size_t open(std::uint32_t field);
  void close(std::size_t at);

 private:
  std::string& out_;
};

}  // namespace weir::protobuf
