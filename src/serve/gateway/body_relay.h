// BodyRelay: takes the body of one message off its sender's bytes and frames it for its receiver.
//
//   from Content-Length, chunked or until-close   to the same length, or to chunked, or raw
//
// Chunks are framed anew, extensions dropped, trailers passed on. The end is told exactly: not one
// byte of the message behind it is taken. Pure: no sockets. THREADS: one owner.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/http1/chunked.h"
#include "wire/http1/framing.h"

namespace weir::gateway {

// How much of a body that nobody wants is read past, to keep the client's connection in use.
inline constexpr std::uint64_t kMaxReadPast = 256 * 1024;

class BodyRelay {
 public:
  enum class Framing : std::uint8_t {
    kRaw,      // the payload alone: the head told its length, or the connection's end will
    kChunked,  // with trailers
    kDrop,     // nowhere
  };
  enum class Status : std::uint8_t { kMore, kDone, kError };

  void start(http1::Body body, Framing framing);

  // Takes from `input` until it is empty, the body ends, or `output` has grown to about `bound`;
  // returns how many bytes it took. Then see status().
  std::size_t relay(std::string_view input, std::string& output, std::size_t bound);

  // The sender has closed, in good order. kDone when that is how this body ends; kError when it is
  // cut short.
  void end_of_input(std::string& output);

  Status status() const { return status_; }
  bool done() const { return status_ == Status::kDone; }
  std::uint64_t taken() const { return taken_; }      // bytes of the body as framed by the sender
  std::uint64_t payload() const { return payload_; }  // bytes of it without framing
  // What is still to come, where its length told; else 0.
  std::uint64_t left() const { return left_; }

  // From here on the body goes nowhere.
  void drop() { framing_ = Framing::kDrop; }

  // REQUIRES: kError after relay(). What was wrong with a chunk.
  std::string_view error() const { return decoder_.error().message; }

 private:
  std::size_t relay_plain(std::string_view input, std::string& output, std::size_t bound);
  std::size_t relay_chunks(std::string_view input, std::string& output, std::size_t bound);
  void put(std::string_view payload, std::string& output);
  void finish(std::string& output);

  http1::Body body_;
  Framing framing_ = Framing::kRaw;
  Status status_ = Status::kDone;
  std::uint64_t left_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t payload_ = 0;
  http1::ChunkedDecoder decoder_;
};

}  // namespace weir::gateway
