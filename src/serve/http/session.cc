#include "serve/http/session.h"

#include "base/at_rest.h"
#include "base/decimal.h"
#include "base/seconds.h"
#include "net/write_out.h"
#include "serve/http/problem.h"
#include "wire/http1/date.h"
#include "wire/http1/writer.h"

namespace weir::http {
namespace {

constexpr int kReadsPerTurn = 8;             // then others get theirs
constexpr std::size_t kMaxKeptBytes = 4096;  // of an answer's memory, for the next
constexpr std::size_t kMaxKeptHead = 512;    // longer ones are parsed each time
constexpr Duration kLingerTime = std::chrono::seconds(2);
constexpr Duration kDrainGrace = std::chrono::seconds(1);

// Status, date, type, and the name of the length. WHY kept: most answers of a second have the same
// ones as the answer before.
void append_first_lines(std::string& out, const Response& response,
                        const std::optional<Instant>& at) {
  struct Lines {
    int status = 0;
    std::optional<std::int64_t> second;
    std::string content_type;
    std::string text;
  };
  static thread_local Lines known;
  std::optional<std::int64_t> second;
  if (at) second = at->wall_ns / kNsPerSecond;
  if (known.status != response.status || known.second != second ||
      known.content_type != response.content_type) {
    known = {response.status, second, std::string(response.content_type), {}};
    http1::append_status_line(known.text, response.status);
    if (second) http1::append_date_header(known.text, *second);
    http1::append_parsed_header(known.text, "Content-Type", response.content_type);
    known.text += "Content-Length: ";
  }
  out += known.text;
}

// Where the answers of a turn are put together, by one connection of the thread after the other.
// WHY not in room of each one's own: that of many connections is in no cache by the time it is
// written again, and an idle one would hold it.
std::string& room_of_this_thread() {
  static thread_local std::string room;
  return room;
}

}  // namespace

void Response::clear() {
  status = 200;
  content_type = Response{}.content_type;
  for (std::string* text : {&headers, &body}) {
    text->clear();
    if (text->capacity() > kMaxKeptBytes) text->shrink_to_fit();
  }
  upgrade = nullptr;
}

void Response::add_header(std::string_view name, std::string_view value) {
  http1::append_parsed_header(headers, name, value);
}

Session::Session(net::Loop& loop, net::SessionSet& sessions, net::Transport transport,
                 const IpAddress& peer, const Options& options, const AsyncHandler& handler)
    : loop_(loop),
      sessions_(sessions),
      stream_(new net::Stream(loop, std::move(transport))),
      options_(options),
      handler_(handler),
      peer_(peer),
      deadline_(loop.timers(), [this] { on_deadline(); }),
      parser_(options.head) {
  sessions_.add(*this);
  deadline_.expires_after(options_.request_timeout);
  stream_->set_owner(this);
  stream_->wait_to_read();
}

// A request may be on its way already: an idle connection has a moment to bring it, is answered,
// and is told that it ends. Closed at once, the request would be lost.
void Session::drain() {
  if (idle() && !answering_ && out_.empty()) deadline_.expires_after(kDrainGrace);
}

void Session::on_readable() {
  lingering_ ? discard() : read_requests();
}

void Session::read_requests() {
  for (int i = 0; i < kReadsPerTurn && stream_->readable() && read_once(); ++i) {
    if (closing_ || writing_ || answering_ || upgrade_) break;
  }
  settle();
}

// Takes what one read brings. False when nothing is left to do in this turn.
bool Session::read_once() {
  const net::Io got = stream_->read(net::scratch(), net::kScratchBytes);
  if (got.status == net::Io::Status::kWouldBlock) return false;
  if (got.status != net::Io::Status::kMoved) {
    // The peer sends no more. What it has asked and is owed goes out first.
    peer_done_ = true;
    return false;
  }
  feed({net::scratch(), got.bytes});
  return true;
}

void Session::feed(std::string_view arrived) {
  if (pending_.empty()) {
    const std::size_t used = consume(arrived);
    pending_.assign(arrived.substr(used));
  } else {
    pending_.append(arrived);
    pending_.erase(0, consume(pending_));
  }
}

// Answers every whole request at the front; returns how many bytes they took.
std::size_t Session::consume(std::string_view data) {
  std::size_t done = 0;
  read_clock();
  if (std::string& room = room_of_this_thread();
      out_.empty() && out_.capacity() < room.capacity()) {
    out_.swap(room);  // flush() gives it back
  }
  while (!closing_ && !answering_ && !upgrade_ && done < data.size() &&
         out_.size() - sent_ < options_.max_unsent) {
    const std::size_t used = consume_request(data.substr(done));
    if (used == 0) break;
    done += used;
  }
  return closing_ && !answering_ ? data.size() : done;
}

// Once for all requests at hand: a batch of them is one moment.
void Session::read_clock() {
  if (options_.clock != nullptr) at_ = options_.clock->now();
}

// The head at the front; not looked at again where it is the one before.
http1::Progress Session::parse(std::string_view data) {
  if (!known_head_.empty()) {
    if (data.starts_with(known_head_)) return http1::Progress::kComplete;
    known_head_.clear();
    parser_.reset();
  }
  const http1::Progress progress = parser_.parse(data);
  if (progress == http1::Progress::kComplete && parser_.consumed() <= kMaxKeptHead) {
    known_head_ = data.substr(0, parser_.consumed());
  }
  return progress;
}

std::size_t Session::consume_request(std::string_view data) {
  switch (parse(data)) {
    case http1::Progress::kNeedMore:
      return 0;
    case http1::Progress::kError:
      fail(parser_.error().status, parser_.error().message);
      return 0;
    case http1::Progress::kComplete:
      break;
  }
  parser_.rebase(data.data());
  std::string_view body;
  const std::size_t used = consume_body(data, parser_.consumed(), body);
  if (used == 0) return 0;
  ask(parser_.head(), body);
  if (known_head_.empty()) parser_.reset();
  chunks_.reset();
  body_.clear();
  body_used_ = 0;
  continue_sent_ = false;
  in_request_ = false;
  return used;
}

// The size of head and body together once the body is whole, else 0.
std::size_t Session::consume_body(std::string_view data, std::size_t head_size,
                                  std::string_view& body) {
  const http1::RequestHead& head = parser_.head();
  if (head.body.kind == http1::Body::Kind::kChunked) return consume_chunked(data, head_size, body);
  if (head.body.kind == http1::Body::Kind::kNone) return head_size;
  if (head.body.length > options_.max_body) {
    fail(413, "the body is larger than " + std::to_string(options_.max_body) + " bytes");
    return 0;
  }
  if (data.size() - head_size < head.body.length) {
    allow_body(head, data.size() > head_size);
    return 0;
  }
  body = data.substr(head_size, head.body.length);
  return head_size + head.body.length;
}

std::size_t Session::consume_chunked(std::string_view data, std::size_t head_size,
                                     std::string_view& body) {
  // Chunks of one byte cost five more: the bytes of framing are bounded like those of the body.
  const std::size_t max_raw = 2 * std::size_t{options_.max_body};
  while (true) {
    const auto step = chunks_.decode(data.substr(head_size + body_used_));
    body_used_ += step.consumed;
    body_.append(step.payload);
    if (body_.size() > options_.max_body || body_used_ > max_raw) {
      fail(413, "the body is larger than " + std::to_string(options_.max_body) + " bytes");
      return 0;
    }
    if (step.progress == http1::Progress::kError) {
      fail(chunks_.error().status, chunks_.error().message);
      return 0;
    }
    if (step.progress == http1::Progress::kComplete) {
      body = body_;
      return head_size + body_used_;
    }
    if (step.consumed == 0) {
      allow_body(parser_.head(), body_used_ > 0);
      return 0;
    }
  }
}

// Tells a client that waits for it to send the body (RFC 9110 section 10.1.1).
void Session::allow_body(const http1::RequestHead& head, bool body_begun) {
  if (!head.expect_continue || continue_sent_ || body_begun) return;
  continue_sent_ = true;
  http1::append_status_line(out_, 100);
  http1::append_end_of_headers(out_);
}

void Session::ask(const http1::RequestHead& head, std::string_view body) {
  const Request request{head.method, head.path, head.query, head.headers, body,
                        peer_,       &head,     &loop_,     at_};
  keep_alive_ = head.keep_alive;
  client_is_1_0_ = head.minor_version == 0;
  head_only_ = head.method == "HEAD";
  response_ = AtRest<Response>::take();
  answering_ = asking_ = true;
  handler_(request, *response_, [this] { on_answer(); });
  asking_ = false;
}

// The handler has answered: inside its own call, or later.
void Session::on_answer() {
  answering_ = false;
  if (ended_) return destroy();
  if (response_->upgrade) {
    switch_protocols(*response_);
  } else {
    if (!keep_alive_ || sessions_.draining()) closing_ = true;
    append_response(*response_, head_only_);
  }
  AtRest<Response>::give(std::move(response_));
  if (!asking_) settle();
}

void Session::append_response(const Response& response, bool head_only) {
  append_first_lines(out_, response, at_);
  char length[kMaxDecimalDigits + 2];
  char* const end = write_decimal(length, response.body.size());
  end[0] = '\r';
  end[1] = '\n';
  out_.append(length, end + 2);
  if (closing_) {
    http1::append_parsed_header(out_, "Connection", "close");
  } else if (client_is_1_0_) {  // to which a connection that stays is news
    http1::append_parsed_header(out_, "Connection", "keep-alive");
  }
  out_ += response.headers;
  http1::append_end_of_headers(out_);
  if (!head_only) out_ += response.body;
}

void Session::fail(int status, std::string_view message) {
  closing_ = true;
  options_.unreadable.add();
  Response response;
  set_problem(response, status, message);
  append_response(response, /*head_only=*/false);
}

void Session::switch_protocols(Response& response) {
  http1::append_status_line(out_, response.status);
  out_ += response.headers;
  http1::append_end_of_headers(out_);
  upgrade_ = std::move(response.upgrade);
}

// The connection goes on as another session; this one ends without closing it.
void Session::hand_over() {
  ended_ = true;
  deadline_.cancel();
  upgrade_(loop_, sessions_, stream_, std::move(pending_));
  sessions_.remove(*this);
  destroy();
}

// Writes what can be written now. False when the peer has to read first, or is gone.
bool Session::flush() {
  const net::Io::Status status = net::write_out(*stream_, out_, sent_);
  if (status == net::Io::Status::kMoved) {
    std::string& room = room_of_this_thread();
    if (out_.capacity() > room.capacity()) out_.swap(room);
    return true;
  }
  status == net::Io::Status::kWouldBlock ? wait_to_write() : end();
  return false;
}

void Session::wait_to_write() {
  if (writing_) return;
  writing_ = true;
  in_request_ = false;
  deadline_.expires_after(options_.idle_timeout);
  stream_->wait_to_write();
}

void Session::on_writable() {
  writing_ = false;
  settle();
}

// Answers requests that had to wait until earlier answers were sent. True when there is more to
// send now, or to wait for.
bool Session::consume_pending() {
  if (closing_ || upgrade_ || pending_.empty()) return false;
  pending_.erase(0, consume(pending_));
  return answering_ || !out_.empty();
}

// The end of a turn: sends, and decides what to wait for next.
void Session::settle() {
  do {
    if (ended_ || writing_ || !flush()) return;
    if (answering_) return wait_for_answer();
  } while (consume_pending());
  if (upgrade_) return hand_over();
  if (closing_ || peer_done_) return linger();
  if (pending_.empty() && pending_.capacity() > net::kScratchBytes) pending_.shrink_to_fit();
  set_read_deadline();
  stream_->wait_to_read();
}

// Nothing is read meanwhile: a client that pipelines waits in the kernel's buffer.
void Session::wait_for_answer() {
  in_request_ = false;
  deadline_.cancel();  // the handler's answer has a bound of its own
}

// A request has its time from its first byte on, however slowly the rest drips in.
void Session::set_read_deadline() {
  if (idle()) {
    in_request_ = false;
    deadline_.expires_after(sessions_.draining() ? kDrainGrace : options_.idle_timeout);
  } else if (!in_request_) {
    in_request_ = true;
    deadline_.expires_after(options_.request_timeout);
  }
}

// Closes so that the answer is read: closing with unread bytes would reset the connection, and the
// reset can overtake the answer (RFC 9112 section 9.6).
void Session::linger() {
  if (lingering_) return;
  lingering_ = true;
  stream_->end_output();
  deadline_.expires_after(kLingerTime);
  stream_->wait_to_read();
}

void Session::discard() {
  if (!stream_->discard()) return end();
  stream_->wait_to_read();
}

void Session::on_deadline() {
  if (lingering_ || writing_) return end();
  if (idle()) return linger();
  read_clock();
  fail(408, "the request did not arrive in time");
  settle();
}

void Session::end() {
  if (ended_) return;
  ended_ = true;
  deadline_.cancel();
  stream_->close();
  sessions_.remove(*this);
  if (!answering_) destroy();  // else the answer, which comes for certain, does it
}

void Session::destroy() {
  loop_.post([self = std::unique_ptr<Session>(this)] {});
}

}  // namespace weir::http
