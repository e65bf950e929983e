#include "store/redis/node.h"

#include <utility>

#include "net/steady_time.h"
#include "store/redis/refusal.h"
#include "wire/resp/writer.h"

namespace weir::store::redis {

Node::Node(net::Loop& loop, Options options, Events events)
    : loop_(loop),
      options_(std::move(options)),
      events_(std::move(events)),
      backoff_(reinterpret_cast<std::uintptr_t>(this) ^
               static_cast<std::uint64_t>(net::steady_ns())),
      writer_(new Writer),
      timer_(loop.executor()),
      deadline_timer_(loop.executor()) {
  pipeline_.observe = [this](const Outcome& outcome) { observe(outcome); };
  pipeline_.push = [this](const resp::Reply& reply) {
    if (events_.on_push) events_.on_push(reply);
  };
}

void Node::start() {
  if (state_ == State::kIdle) dial();
}

void Node::call(std::string_view bytes, unsigned skip, std::int64_t deadline_ns, OnOutcome done) {
  if (breaker_.open() || state_ == State::kClosed || pipeline_.full()) {
    return done(Outcome{Ending::kUnreachable});
  }
  pipeline_.add(bytes, skip, deadline_ns, std::move(done));
  asked_ = true;
  wake_writer();
  if (deadline_ns < armed_ns_) arm_deadline();
}

void Node::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  events_ = Events{};
  timer_.cancel();
  deadline_timer_.cancel();
  writer_->wanted_by.reset();
  if (stream_) stream_->close();
  stream_.reset();
  pipeline_.end_all();
}

void Node::dial() {
  state_ = State::kConnecting;
  stream_ = make_stream(loop_, options_.address, options_.tls);
  arm(options_.connect_timeout, &Node::on_connect_timeout);
  stream_->connect([self = shared_from_this(), stream = stream_](const std::string& error) {
    if (self->stream_ != stream) return;
    if (error.empty()) return self->greet();
    self->lost(error);
  });
}

void Node::greet() {
  state_ = State::kGreeting;
  handshake_.emplace(options_.handshake);
  greeting_.clear();
  greeting_parser_ = resp::ReplyParser();
  writing_ = handshake_->next();
  read();
  write();
}

void Node::on_connect_timeout() {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.connect_timeout);
  const bool connected = state_ == State::kGreeting;
  std::string reason = connected ? "no answer to the first command in " : "no connection in ";
  lost(reason + std::to_string(ms.count()) + "ms" + hint());
}

// A plain port says nothing to a TLS hello, and a TLS port nothing that makes sense to a command.
const char* Node::hint() const {
  if (state_ == State::kConnecting && options_.tls) return " (is TLS expected on this port?)";
  if (state_ == State::kGreeting && !options_.tls) return " (is TLS expected on this port?)";
  return "";
}

void Node::become_ready() {
  state_ = State::kReady;
  backoff_.reset();
  heard_ns_ = net::steady_ns();
  count_success();
  arm(kProbeEvery, &Node::probe);
  if (events_.on_ready) events_.on_ready();
  wake_writer();
}

void Node::lost(const std::string& reason) {
  if (state_ == State::kClosed || state_ == State::kWaiting) return;
  state_ = State::kWaiting;
  last_error_ = reason;
  stream_->close();
  stream_.reset();
  is_writing_ = false;
  arm(backoff_.next(), &Node::dial);
  count_failure(reason);
  pipeline_.end_all();
  if (breaker_.open() && !explained_) {
    explained_ = true;
    if (events_.on_explained) events_.on_explained(reason);
  }
  if (events_.on_lost) events_.on_lost(reason);
}

void Node::read() {
  stream_->read(net::asio::buffer(buffer_), [self = shared_from_this(), stream = stream_](
                                                const net::SystemError& error, std::size_t bytes) {
    if (self->stream_ != stream) return;
    if (error) return self->lost("the connection ended: " + error.message() + self->hint());
    self->receive({self->buffer_.data(), bytes});
    if (self->stream_ == stream) self->read();
  });
}

void Node::receive(std::string_view bytes) {
  heard_ns_ = net::steady_ns();
  if (state_ == State::kGreeting) return receive_greeting(bytes);
  if (pipeline_.receive(bytes)) return;
  lost(pipeline_.error());
}

void Node::receive_greeting(std::string_view bytes) {
  greeting_ += bytes;
  switch (greeting_parser_.parse(greeting_)) {
    case resp::Progress::kNeedMore:
      return;
    case resp::Progress::kError:
      return lost("the server does not speak RESP: " + std::string(greeting_parser_.error()) +
                  hint());
    case resp::Progress::kComplete:
      break;
  }
  const Handshake::Progress progress = handshake_->receive(greeting_parser_.reply());
  greeting_.erase(0, greeting_parser_.consumed());
  if (!greeting_.empty()) return lost("the server answered what nobody asked");
  switch (progress) {
    case Handshake::Progress::kFailed:
      return lost(handshake_->error());
    case Handshake::Progress::kDone:
      return become_ready();
    case Handshake::Progress::kGoesOn:
      writing_ = handshake_->next();
      write();
  }
}

// WHY not at once: the calls of one turn of the loop then share one write. WHY by the poller: a
// post would have the loop look for what is ready, a system call, before it comes to that.
void Node::wake_writer() {
  if (state_ != State::kReady || is_writing_) return;
  if (pipeline_.output_size() >= kEnoughToWrite) return flush();
  if (writer_->wanted_by) return;
  writer_->wanted_by = shared_from_this();
  loop_.poller().wake(*writer_);
}

void Node::Writer::on_ready(std::uint32_t) {
  const std::shared_ptr<Node> node = std::exchange(wanted_by, nullptr);
  if (node) node->flush();
}

void Node::flush() {
  if (state_ != State::kReady || is_writing_ || !pipeline_.has_output()) return;
  pipeline_.take_output(writing_);
  write();
}

void Node::write() {
  writing_.erase(0, stream_->write_now(net::asio::buffer(writing_)));
  if (writing_.empty()) return;
  is_writing_ = true;
  stream_->write(net::asio::buffer(writing_), [self = shared_from_this(), stream = stream_](
                                                  const net::SystemError& error, std::size_t) {
    if (self->stream_ != stream) return;
    self->is_writing_ = false;
    if (error) return self->lost("cannot write: " + error.message());
    self->wake_writer();
  });
}

void Node::arm(Duration wait, void (Node::*then)()) {
  timer_.expires_after(wait);
  timer_.async_wait([self = shared_from_this(), then](const net::SystemError& error) {
    if (!error && self->state_ != State::kClosed) (self.get()->*then)();
  });
}

// Every now and then on a connection that is up: asks the server for a sign of life where it is
// taken for dead, and, where calls were made since, whether its answers still go with them (one
// that leaves an answer out has every later call take that of the next). Ends a connection on which
// nothing comes any more.
void Node::probe() {
  if (state_ != State::kReady) return;
  if (silent_for_too_long()) return lost("the server is silent");
  arm(kProbeEvery, &Node::probe);
  const bool asked = std::exchange(asked_, false) || pipeline_.unanswered() > 0;
  if (!asked && !breaker_.open()) return;
  pipeline_.add_probe(net::steady_ns() + options_.timeout.count());
  wake_writer();
  arm_deadline();
}

bool Node::silent_for_too_long() const {
  return pipeline_.unanswered() > 0 && breaker_.open() &&
         net::steady_ns() - heard_ns_ > options_.connect_timeout.count();
}

void Node::arm_deadline() {
  armed_ns_ = pipeline_.next_deadline();
  if (armed_ns_ == Pipeline::kNever) return;
  deadline_timer_.expires_at(net::steady_point(armed_ns_));
  deadline_timer_.async_wait([self = shared_from_this()](const net::SystemError& error) {
    if (!error) self->on_deadline();
  });
}

void Node::on_deadline() {
  if (state_ == State::kClosed) return;
  armed_ns_ = 0;  // calls that a callback adds leave the timer to what follows
  pipeline_.expire(net::steady_ns());
  arm_deadline();
}

void Node::observe(const Outcome& outcome) {
  if (outcome.ending == Ending::kReply) {
    const bool loading =
        outcome.reply->is_error() && refusal_of(outcome.reply->text()) == Refusal::kLoading;
    if (!loading) return count_success();
    return count_failure("the server is still loading its data");
  }
  if (outcome.ending == Ending::kTimeout) return count_failure("no reply in time");
  count_failure(last_error_.empty() ? "no connection in time" : last_error_);
}

void Node::count_failure(const std::string& reason) {
  if (breaker_.failed() && events_.on_change) events_.on_change(false, reason);
}

void Node::count_success() {
  explained_ = false;
  if (breaker_.succeeded() && events_.on_change) events_.on_change(true, "");
}

}  // namespace weir::store::redis
