// Descriptors: what gRPC's reflection tells generic clients of our services: the .proto files, as
// protoc describes them.
//
// THREADS: immutable after construction; any.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::grpc {

// A google.protobuf.FileDescriptorSet (tools/make_descriptors.py).
extern const unsigned char kDescriptorBytes[];
extern const std::size_t kDescriptorSize;

class Descriptors {
 public:
  Descriptors();

  // The file of that name, and all that it imports; none where there is no such file. The bytes are
  // FileDescriptorProtos and live as long as the program.
  std::vector<std::string_view> file(std::string_view name) const;
  // The same for the file that defines "package.Service", a method of it, a message or an enum.
  std::vector<std::string_view> file_of(std::string_view symbol) const;

 private:
  struct File {
    std::string_view bytes;
    std::vector<std::string_view> imports;
  };

  enum class Kind { kMessage, kEnum, kService, kMethod };

  void add_file(std::string_view bytes);
  void add_symbol(Kind kind, std::string_view definition, const std::string& scope,
                  std::string_view file);

  std::map<std::string_view, File, std::less<>> files_;
  std::map<std::string, std::string_view, std::less<>> symbols_;  // to the file's name
};

}  // namespace weir::grpc
