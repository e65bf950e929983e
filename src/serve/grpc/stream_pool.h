// StreamPool: streams that are at rest, kept for the next calls of any connection of this thread.
//
// Holds at most kKept; more are freed. THREADS: each has its own.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "serve/grpc/stream.h"

namespace weir::grpc {

class StreamPool {
 public:
  static constexpr std::size_t kKept = 256;

  static Stream* take() {
    auto& kept = of_this_thread();
    if (kept.empty()) return new Stream;
    Stream* stream = kept.back().release();
    kept.pop_back();
    return stream;
  }

  static void give_back(Stream* stream) {
    std::unique_ptr<Stream> owned(stream);
    auto& kept = of_this_thread();
    if (kept.size() < kKept) kept.push_back(std::move(owned));
  }

 private:
  static std::vector<std::unique_ptr<Stream>>& of_this_thread() {
    static thread_local std::vector<std::unique_ptr<Stream>> kept;
    return kept;
  }
};

}  // namespace weir::grpc
