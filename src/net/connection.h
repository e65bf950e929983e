// Connection: one connection with a bounded input buffer and an output that is written at once
// where the kernel takes it, and when it can where not.
//
// Its owner is told of new input and of output that went. Neither read() nor flush() calls back
// before it returns. An open connection is kept alive by its loop; close() ends that, and after it
// the owner hears nothing more.
//
// The input buffer starts small and grows, up to its bound, for who sends much; shrink() gives the
// memory back, for connections that idle.
//
// THREADS: the loop's.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/loop.h"
#include "net/poller.h"
#include "net/transport.h"

namespace weir::net {

class Connection final : public Poller::Watched {
 public:
  class Owner {
   public:
    // More input, or its end: input_ended(), input_failed().
    virtual void on_input(Connection& connection) = 0;
    // Some output that flush() could not send has gone, or never will: output_failed().
    virtual void on_output(Connection& connection) = 0;

   protected:
    ~Owner() = default;
  };

  Connection(Loop& loop, Transport transport, std::size_t max_input);
  ~Connection() override;

  void set_owner(Owner* owner) { owner_ = owner; }
  int fd() const { return transport_.fd(); }
  bool speaks_tls() const { return transport_.speaks_tls(); }

  // What has been read and not consumed, in one piece. Stays in place until the next read().
  std::string_view input() const { return {buffer_.get() + begin_, end_ - begin_}; }
  void consume(std::size_t size);
  // Reads more, unless a read is under way, the input is over, or it is at its bound.
  void read();
  bool reading() const { return reading_; }
  bool input_full() const { return end_ - begin_ >= max_input_; }
  std::size_t max_input() const { return max_input_; }
  bool input_ended() const { return input_ended_; }  // the peer has said its last byte
  bool input_failed() const { return input_failed_; }
  bool input_over() const { return input_ended_ || input_failed_ || closed_; }

  // Append here, then flush().
  std::string& output() { return output_; }
  void flush();
  std::size_t unsent() const { return output_.size() - sent_; }
  bool output_failed() const { return output_failed_; }
  // No more output: the peer is told once everything has gone.
  void end_output();

  // Ends it. What is unsent is lost; close() lets the kernel deliver what it has, reset() tells the
  // peer that something went wrong.
  void close();
  void reset();
  bool closed() const { return closed_; }

  // Gives memory back that idle connections do not need. REQUIRES: no read is under way.
  void shrink();

  // Whether the peer has closed, or sent something, that no read has told of yet. One system call.
  bool has_unread_event() { return transport_.has_unread_event(); }

 private:
  void on_ready(std::uint32_t events) override;
  bool make_room();
  void grow(std::size_t capacity);
  void receive();
  void send();
  void fail_output();

  Poller& poller_;
  Transport transport_;
  Owner* owner_ = nullptr;

  const std::size_t max_input_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::unique_ptr<char[]> buffer_;

  std::string output_;
  std::size_t sent_ = 0;  // of output_

  bool reading_ = false;
  bool readable_ = false;    // the kernel may have input
  bool peer_ended_ = false;  // and after it the end: no edge will tell of that again
  bool filled_ = false;      // the last read took all the room there was: make more
  bool input_ended_ = false;
  bool input_failed_ = false;
  bool writing_ = false;  // waits for the kernel to take more
  bool output_failed_ = false;
  bool output_ending_ = false;
  bool closed_ = false;
};

using ConnectionPtr = boost::intrusive_ptr<Connection>;

}  // namespace weir::net
