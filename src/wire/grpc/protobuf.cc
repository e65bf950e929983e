#include "wire/grpc/protobuf.h"

#include <array>

namespace weir::protobuf {
namespace {

constexpr std::size_t kMaxVarint = 10;

// Returns the end. REQUIRES: kMaxVarint bytes at `at`.
char* write_varint(char* at, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

char* write_tag(char* at, std::uint32_t field, Type type) {
  return write_varint(at, std::uint64_t{field} << 3 | static_cast<std::uint64_t>(type));
}

}  // namespace

namespace {

constexpr std::uint32_t kBeginGroup = 3;
constexpr std::uint32_t kEndGroup = 4;
constexpr std::uint32_t kMaxFieldNumber = (1u << 29) - 1;
constexpr std::size_t kMaxGroups = 32;

}  // namespace

bool Reader::fail() {
  failed_ = true;
  rest_ = {};
  return false;
}

bool Reader::read_varint(std::uint64_t& value) {
  value = 0;
  for (unsigned i = 0; i < 10 && i < rest_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    if (i == 9 && byte > 1) return fail();  // bits beyond the 64th
    value |= std::uint64_t{byte & 0x7Fu} << (7 * i);
    if ((byte & 0x80u) == 0) {
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return fail();
}

bool Reader::read_tag(std::uint32_t& number, std::uint32_t& type) {
  std::uint64_t tag = 0;
  if (!read_varint(tag)) return false;
  type = tag & 7;
  if (tag >> 3 == 0 || tag >> 3 > kMaxFieldNumber) return fail();
  number = static_cast<std::uint32_t>(tag >> 3);
  return true;
}

bool Reader::read_fixed(std::size_t size, std::uint64_t& value) {
  if (rest_.size() < size) return fail();
  value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  }
  rest_.remove_prefix(size);
  return true;
}

bool Reader::read_value(std::uint32_t type, Field& field) {
  switch (type) {
    case 0:
      field.type = Type::kVarint;
      return read_varint(field.value);
    case 1:
      field.type = Type::kFixed64;
      return read_fixed(8, field.value);
    case 2: {
      field.type = Type::kBytes;
      std::uint64_t size = 0;
      if (!read_varint(size)) return false;
      if (size > rest_.size()) return fail();
      field.bytes = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return true;
    }
    case 5:
      field.type = Type::kFixed32;
      return read_fixed(4, field.value);
    default:
      return fail();
  }
}

// Skips to the end of the group that has just begun, groups within it included.
bool Reader::skip_group(std::uint32_t number) {
  std::array<std::uint32_t, kMaxGroups> open{number};
  std::size_t depth = 1;
  Field ignored;
  while (depth > 0) {
    std::uint32_t type = 0;
    if (!read_tag(number, type)) return false;
    if (type == kBeginGroup) {
      if (depth == kMaxGroups) return fail();
      open[depth++] = number;
    } else if (type == kEndGroup) {
      if (open[--depth] != number) return fail();
    } else if (!read_value(type, ignored)) {
      return false;
    }
  }
  return true;
}

bool Reader::next(Field& field) {
  while (!rest_.empty()) {
    std::uint32_t type = 0;
    if (!read_tag(field.number, type)) return false;
    if (type != kBeginGroup) return read_value(type, field);
    if (!skip_group(field.number)) return false;
  }
  return false;
}

void Writer::number_of_any_size(std::uint32_t field, std::uint64_t value) {
  char bytes[2 * kMaxVarint];
  char* end = write_tag(bytes, field, Type::kVarint);
  end = write_varint(end, value);
  out_.append(bytes, static_cast<std::size_t>(end - bytes));
}

void Writer::text_of_any_size(std::uint32_t field, std::string_view value) {
  char bytes[2 * kMaxVarint];
  char* end = write_tag(bytes, field, Type::kBytes);
  end = write_varint(end, value.size());
  out_.append(bytes, static_cast<std::size_t>(end - bytes));
  out_.append(value);
}

void Writer::tag_of_any_size(std::uint32_t field) {
  char bytes[kMaxVarint];
  const char* const end = write_tag(bytes, field, Type::kBytes);
  out_.append(bytes, static_cast<std::size_t>(end - bytes));
}

void Writer::close_long(std::size_t at, std::size_t size) {
  char bytes[kMaxVarint];
  const char* const end = write_varint(bytes, size);
  out_.replace(at - 1, 1, bytes, static_cast<std::size_t>(end - bytes));
}

}  // namespace weir::protobuf
