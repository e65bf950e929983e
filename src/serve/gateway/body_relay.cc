#include "serve/gateway/body_relay.h"

#include <algorithm>

#include "wire/http1/writer.h"

namespace weir::gateway {

using Kind = http1::Body::Kind;

void BodyRelay::start(http1::Body body, Framing framing) {
  if (body_.kind == Kind::kChunked) decoder_.reset();
  body_ = body;
  framing_ = framing;
  left_ = body.kind == Kind::kLength ? body.length : 0;
  taken_ = 0;
  payload_ = 0;
  status_ = body.kind == Kind::kNone ? Status::kDone : Status::kMore;
}

std::size_t BodyRelay::relay(std::string_view input, std::string& output, std::size_t bound) {
  if (status_ != Status::kMore) return 0;
  const std::size_t taken = body_.kind == Kind::kChunked ? relay_chunks(input, output, bound)
                                                         : relay_plain(input, output, bound);
  taken_ += taken;
  return taken;
}

std::size_t BodyRelay::relay_plain(std::string_view input, std::string& output, std::size_t bound) {
  std::size_t size = input.size();
  if (framing_ != Framing::kDrop) {
    size = std::min(size, bound - std::min(bound, output.size()));
  }
  if (body_.kind == Kind::kLength) {
    size = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
    left_ -= size;
  }
  put(input.substr(0, size), output);
  if (body_.kind == Kind::kLength && left_ == 0) finish(output);
  return size;
}

std::size_t BodyRelay::relay_chunks(std::string_view input, std::string& output,
                                    std::size_t bound) {
  std::size_t taken = 0;
  while (taken < input.size() && (framing_ == Framing::kDrop || output.size() < bound)) {
    const http1::ChunkedDecoder::Output step = decoder_.decode(input.substr(taken));
    taken += step.consumed;
    put(step.payload, output);
    if (step.progress == http1::Progress::kNeedMore) continue;
    if (step.progress == http1::Progress::kComplete) {
      finish(output);
    } else {
      status_ = Status::kError;
    }
    break;
  }
  return taken;
}

void BodyRelay::put(std::string_view payload, std::string& output) {
  payload_ += payload.size();
  if (payload.empty() || framing_ == Framing::kDrop) return;
  if (framing_ == Framing::kChunked) {
    http1::append_chunk(output, payload);
  } else {
    output.append(payload);
  }
}

void BodyRelay::finish(std::string& output) {
  status_ = Status::kDone;
  if (framing_ != Framing::kChunked) return;
  output.append(http1::kLastChunkOpen);
  if (body_.kind == Kind::kChunked) {
    for (const http1::Header trailer : decoder_.trailers()) {
      http1::append_parsed_header(output, trailer.name, trailer.value);
    }
  }
  output.append("\r\n");
}

void BodyRelay::end_of_input(std::string& output) {
  if (status_ != Status::kMore) return;
  if (body_.kind == Kind::kUntilClose) {
    finish(output);
  } else {
    status_ = Status::kError;
  }
}

}  // namespace weir::gateway
