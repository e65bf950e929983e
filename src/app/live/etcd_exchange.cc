#include "app/live/etcd_exchange.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace weir::app {
namespace {

constexpr std::size_t kMaxBytes = 128 << 20;  // of one value: a policy of 64 MiB in base64

}  // namespace

EtcdExchange::EtcdExchange(net::Loop& loop, std::shared_ptr<store::redis::Stream> stream,
                           std::string request, Events events)
    : stream_(std::move(stream)),
      request_(std::move(request)),
      events_(std::move(events)),
      timer_(loop.executor()) {}

void EtcdExchange::start(Duration within) {
  if (within > Duration{0}) {
    timer_.expires_after(within);
    timer_.async_wait([self = shared_from_this()](const net::SystemError& error) {
      if (!error) self->end("no answer in time");
    });
  }
  stream_->connect([self = shared_from_this()](const std::string& error) {
    if (self->ended_) return;
    error.empty() ? self->write() : self->end(error);
  });
}

void EtcdExchange::close() {
  ended_ = true;
  timer_.cancel();
  stream_->close();
}

void EtcdExchange::write() {
  stream_->write(net::asio::buffer(request_),
                 [self = shared_from_this()](const net::SystemError& error, std::size_t) {
                   if (self->ended_) return;
                   error ? self->end("cannot write: " + error.message()) : self->read();
                 });
}

void EtcdExchange::read() {
  stream_->read(net::asio::buffer(buffer_),
                [self = shared_from_this()](const net::SystemError& error, std::size_t size) {
                  if (self->ended_) return;
                  if (error) return self->end("the connection ended: " + error.message());
                  self->receive({self->buffer_.data(), size});
                  if (!self->ended_) self->read();
                });
}

void EtcdExchange::receive(std::string_view bytes) {
  if (in_body_) {
    take_body(bytes);
    return;
  }
  head_ += bytes;
  if (!take_head()) return;
  const std::string rest = head_.substr(parser_.consumed());
  take_body(rest);
}

bool EtcdExchange::take_head() {
  const http1::Progress progress = parser_.parse(head_);
  if (progress == http1::Progress::kError) end("it does not answer as HTTP does");
  if (progress != http1::Progress::kComplete) return false;
  in_body_ = true;
  left_ = parser_.head().body.length;
  return true;
}

// Takes what came of the body; ends with it. False once it has ended.
bool EtcdExchange::take_body(std::string_view bytes) {
  using Kind = http1::Body::Kind;
  const Kind kind = parser_.head().body.kind;
  bool last = kind == Kind::kNone;
  if (kind == Kind::kChunked) {
    while (!bytes.empty() && !last) {
      const auto step = chunks_.decode(bytes);
      if (step.progress == http1::Progress::kError) return end("its answer is cut wrong"), false;
      body_ += step.payload;
      bytes.remove_prefix(step.consumed);
      last = step.progress == http1::Progress::kComplete;
      if (step.consumed == 0) break;
    }
  } else if (kind == Kind::kLength) {
    const std::size_t taken = std::min<std::uint64_t>(left_, bytes.size());
    body_ += bytes.substr(0, taken);
    left_ -= taken;
    last = left_ == 0;
  } else {
    body_ += bytes;
  }
  if (body_.size() > kMaxBytes) return end("its answer is too large"), false;
  while (!ended_ && take_line()) {
  }
  if (ended_) return false;
  if (!last) return true;
  body_ += '\n';  // the last value ends with the body
  take_line();
  if (!ended_) end("");
  return false;
}

bool EtcdExchange::take_line() {
  const std::size_t end_of_line = body_.find('\n');
  if (end_of_line == std::string::npos) return false;
  const std::string line = body_.substr(0, end_of_line);
  body_.erase(0, end_of_line + 1);
  if (line.find_first_not_of(" \t\r") == std::string::npos) return true;
  const auto value = parse_json(line);
  if (value && value->is_object()) {
    events_.on_value(value->get_object());
  } else {
    end("its answer is no JSON: does etcd's gateway listen there?");
  }
  return !ended_;
}

void EtcdExchange::end(const std::string& error) {
  if (ended_) return;
  const auto self = shared_from_this();
  close();
  const Events events = std::move(events_);
  events.on_end(error, in_body_ ? parser_.head().status : 0);
}

}  // namespace weir::app
