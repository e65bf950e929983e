#include "serve/admin/stream.h"

#include <algorithm>

#include "net/stream.h"
#include "net/timer_wheel.h"
#include "net/write_out.h"
#include "serve/http/problem.h"

namespace weir::admin {
namespace {

std::string as_event(const std::string& data) {
  return "data: " + data + "\n\n";
}

}  // namespace

// One connection. Owns itself: ends by a post to the loop.
class Watcher final : public net::Session, private net::Stream::Owner {
 public:
  Watcher(StreamHub& hub, net::Loop& loop, net::SessionSet& sessions, net::StreamPtr stream,
          std::string first)
      : hub_(hub), loop_(loop), sessions_(sessions), stream_(std::move(stream)) {
    sessions_.add(*this);
    stream_->set_owner(this);
    hub_.join(loop_, *this);
    send(first);
    if (!ended_) stream_->wait_to_read();
  }

  void send(std::string_view text) {
    if (ended_) return;
    if (out_.size() - sent_ + text.size() > StreamHub::kMaxUnsent) return end();
    out_ += text;
    flush();
  }

  void drain() override { end(); }
  void abort() override { end(); }

 private:
  // A watcher has nothing to say but that it goes.
  void on_readable() override {
    if (ended_) return;
    const net::Io got = stream_->read(net::scratch(), net::kScratchBytes);
    using Status = net::Io::Status;
    if (got.status == Status::kEnded || got.status == Status::kFailed) return end();
    stream_->wait_to_read();
  }

  void on_writable() override {
    writing_ = false;
    flush();
  }

  void flush() {
    if (writing_) return;
    const net::Io::Status status = net::write_out(*stream_, out_, sent_);
    if (status == net::Io::Status::kWouldBlock) {
      writing_ = true;
      stream_->wait_to_write();
    } else if (status != net::Io::Status::kMoved) {
      end();
    }
  }

  void end() {
    if (ended_) return;
    ended_ = true;
    hub_.leave(loop_, *this);
    stream_->close();
    sessions_.remove(*this);
    loop_.post([self = std::unique_ptr<Watcher>(this)] {});
  }

  StreamHub& hub_;
  net::Loop& loop_;
  net::SessionSet& sessions_;
  const net::StreamPtr stream_;
  std::string out_;
  std::size_t sent_ = 0;  // of out_
  bool writing_ = false;  // waits for the peer to read
  bool ended_ = false;
};

void StreamHub::add(http::Response& response, std::string first) {
  if (count_.fetch_add(1, std::memory_order_relaxed) >= kMaxWatchers) {
    count_.fetch_sub(1, std::memory_order_relaxed);
    http::set_problem(response, 503, "as many watch as may; close a dashboard");
    return response.add_header("Retry-After", "10");
  }
  // The place is held until the connection that was to use it is gone, also where that never came
  // to be a watcher. WHY shared: std::function is copied.
  const auto place = std::shared_ptr<void>(
      nullptr, [this](void*) { count_.fetch_sub(1, std::memory_order_relaxed); });
  response.add_header("Content-Type", "text/event-stream");
  response.add_header("Cache-Control", "no-store");
  response.add_header("Connection", "close");
  response.upgrade = [this, place, first = as_event(first)](
                         net::Loop& loop, net::SessionSet& sessions, net::StreamPtr stream,
                         const std::string&) {
    new Watcher(*this, loop, sessions, std::move(stream), first);  // owns itself
  };
}

StreamHub::Place& StreamHub::place_of(net::Loop& loop) {
  std::lock_guard lock(mutex_);
  for (const auto& place : places_) {
    if (place->loop == &loop) return *place;
  }
  places_.push_back(std::make_unique<Place>(Place{&loop, {}}));
  return *places_.back();
}

void StreamHub::join(net::Loop& loop, Watcher& watcher) {
  count_.fetch_add(1, std::memory_order_relaxed);
  place_of(loop).watchers.push_back(&watcher);
}

void StreamHub::leave(net::Loop& loop, Watcher& watcher) {
  count_.fetch_sub(1, std::memory_order_relaxed);
  std::erase(place_of(loop).watchers, &watcher);
}

void StreamHub::publish(const std::string& data) {
  if (watchers() == 0) return;
  // WHY shared: every loop sends the same text.
  const auto text = std::make_shared<const std::string>(as_event(data));
  std::lock_guard lock(mutex_);
  for (const auto& place : places_) {
    place->loop->post([place = place.get(), text] {
      const std::vector<Watcher*> watchers = place->watchers;  // one may end meanwhile
      for (Watcher* watcher : watchers) watcher->send(*text);
    });
  }
}

}  // namespace weir::admin
