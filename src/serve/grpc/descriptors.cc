#include "serve/grpc/descriptors.h"

#include <algorithm>

#include "wire/grpc/protobuf.h"

namespace weir::grpc {
namespace {

using protobuf::Field;
using protobuf::Reader;

// descriptor.proto: FileDescriptorSet { 1 file }
//   FileDescriptorProto { 1 name, 2 package, 3 dependency, 4 message, 5 enum, 6 service }
//   DescriptorProto { 1 name, 3 nested message, 4 enum }, EnumDescriptorProto { 1 name }
//   ServiceDescriptorProto { 1 name, 2 method { 1 name } }

std::string_view text_of(std::string_view message, std::uint32_t number) {
  Reader reader(message);
  for (Field field; reader.next(field);) {
    if (field.is_bytes(number)) return field.bytes;
  }
  return {};
}

std::string joined(const std::string& scope, std::string_view name) {
  std::string out = scope;
  if (!out.empty()) out += '.';
  out += name;
  return out;
}

}  // namespace

Descriptors::Descriptors() {
  Reader reader({reinterpret_cast<const char*>(kDescriptorBytes), kDescriptorSize});
  for (Field field; reader.next(field);) {
    if (field.is_bytes(1)) add_file(field.bytes);
  }
}

void Descriptors::add_file(std::string_view bytes) {
  const std::string_view name = text_of(bytes, 1);
  File& file = files_[name];
  file.bytes = bytes;
  const std::string package(text_of(bytes, 2));
  Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.is_bytes(3)) file.imports.push_back(field.bytes);
    if (field.is_bytes(4)) add_symbol(Kind::kMessage, field.bytes, package, name);
    if (field.is_bytes(5)) add_symbol(Kind::kEnum, field.bytes, package, name);
    if (field.is_bytes(6)) add_symbol(Kind::kService, field.bytes, package, name);
  }
}

void Descriptors::add_symbol(Kind kind, std::string_view definition, const std::string& scope,
                             std::string_view file) {
  const std::string name = joined(scope, text_of(definition, 1));
  symbols_[name] = file;
  if (kind != Kind::kMessage && kind != Kind::kService) return;
  const bool is_message = kind == Kind::kMessage;
  Reader reader(definition);
  for (Field field; reader.next(field);) {
    if (is_message && field.is_bytes(3)) add_symbol(Kind::kMessage, field.bytes, name, file);
    if (is_message && field.is_bytes(4)) add_symbol(Kind::kEnum, field.bytes, name, file);
    if (!is_message && field.is_bytes(2)) add_symbol(Kind::kMethod, field.bytes, name, file);
  }
}

std::vector<std::string_view> Descriptors::file(std::string_view name) const {
  std::vector<std::string_view> names = {name};
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto known = files_.find(names[i]);
    if (known == files_.end()) continue;
    found.push_back(known->second.bytes);
    for (const std::string_view import : known->second.imports) {
      if (std::find(names.begin(), names.end(), import) == names.end()) names.push_back(import);
    }
  }
  return found;
}

std::vector<std::string_view> Descriptors::file_of(std::string_view symbol) const {
  const auto known = symbols_.find(symbol);
  if (known == symbols_.end()) return {};
  return file(known->second);
}

}  // namespace weir::grpc
