#include "store/redis/stream.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "store/redis/socket_bytes.h"

namespace weir::store::redis {
namespace {

using net::SystemError;
namespace asio = net::asio;
using UnixSocket = asio::basic_stream_socket<asio::local::stream_protocol, net::Executor>;

std::string cannot(const std::string& what, const SystemError& error) {
  return "cannot " + what + ": " + error.message();
}

// What a stream without TLS is once it is connected.
class PlainStream : public Stream {
 public:
  explicit PlainStream(net::Loop& loop) : loop_(loop) {}

  void read(asio::mutable_buffer into, OnBytes done) final { bytes_->read(into, std::move(done)); }
  void write(asio::const_buffer all, OnBytes done) final { bytes_->write(all, std::move(done)); }
  std::size_t write_now(asio::const_buffer bytes) final { return bytes_->write_now(bytes); }
  void close() final {
    stop_connecting();
    if (bytes_) bytes_->close();
  }

 protected:
  // Takes a socket that is connected out of Asio's hands.
  template <typename Socket>
  void take(Socket& socket) {
    SystemError ignored;
    socket.non_blocking(true, ignored);
    bytes_ = std::make_shared<SocketBytes>(loop_, FileDescriptor(socket.release(ignored)));
  }
  virtual void stop_connecting() = 0;

  net::Loop& loop_;

 private:
  std::shared_ptr<SocketBytes> bytes_;
};

class UnixStream final : public PlainStream {
 public:
  UnixStream(net::Loop& loop, const Address& address)
      : PlainStream(loop), socket_(loop.executor()), path_(address.host) {}

  void connect(OnConnected done) override {
    if (path_.size() > kLongestPath) {
      loop_.post([done] { done("the path of the socket is too long"); });
      return;
    }
    socket_.async_connect(asio::local::stream_protocol::endpoint(path_),
                          [this, done](const SystemError& error) {
                            if (error) return done(cannot("connect", error));
                            take(socket_);
                            done("");
                          });
  }

 private:
  static constexpr std::size_t kLongestPath = 107;

  void stop_connecting() override {
    SystemError ignored;
    socket_.close(ignored);
  }

  UnixSocket socket_;
  std::string path_;
};

// Looks a name up and connects to the first of its addresses that answers.
class Dialer {
 public:
  Dialer(net::Loop& loop, const Address& address)
      : resolver_(loop.executor()), host_(address.host), port_(std::to_string(address.port)) {}

  void dial(net::TcpSocket& socket, Stream::OnConnected done) {
    resolver_.async_resolve(
        host_, port_,
        [this, &socket, done](const SystemError& error, net::TcpResolver::results_type found) {
          if (closed_) return done("closed");
          if (error) return done(cannot("find the address of " + host_, error));
          asio::async_connect(socket, found,
                              [&socket, done](const SystemError& failure, const net::Endpoint&) {
                                if (failure) return done(cannot("connect", failure));
                                SystemError ignored;
                                socket.set_option(asio::ip::tcp::no_delay(true), ignored);
                                socket.set_option(asio::socket_base::keep_alive(true), ignored);
                                done("");
                              });
        });
  }
  void close(net::TcpSocket& socket) {
    closed_ = true;
    resolver_.cancel();
    SystemError ignored;
    socket.close(ignored);
  }

 private:
  net::TcpResolver resolver_;
  std::string host_;
  std::string port_;
  bool closed_ = false;
};

class TcpStream final : public PlainStream {
 public:
  TcpStream(net::Loop& loop, const Address& address)
      : PlainStream(loop), dialer_(loop, address), socket_(loop.executor()) {}

  void connect(OnConnected done) override {
    dialer_.dial(socket_, [this, done](const std::string& error) {
      if (error.empty()) take(socket_);
      done(error);
    });
  }

 private:
  void stop_connecting() override { dialer_.close(socket_); }

  Dialer dialer_;
  net::TcpSocket socket_;
};

class TlsStream final : public Stream {
 public:
  TlsStream(net::Loop& loop, const Address& address, std::shared_ptr<Tls> tls)
      : tls_(std::move(tls)),
        name_(tls_->server_name().empty() ? address.host : tls_->server_name()),
        dialer_(loop, address),
        context_(tls_->context()),
        stream_(loop.executor(), *context_) {}

  void connect(OnConnected done) override {
    dialer_.dial(stream_.next_layer(), [this, done](const std::string& error) {
      if (!error.empty()) return done(error);
      SystemError ignored;
      asio::ip::make_address(name_, ignored);  // an address is no name that TLS could be told
      if (ignored) SSL_set_tlsext_host_name(stream_.native_handle(), name_.c_str());
      stream_.set_verify_callback(asio::ssl::host_name_verification(name_), ignored);
      stream_.async_handshake(asio::ssl::stream_base::client, [done](const SystemError& failure) {
        if (!failure) return done("");
        const bool certificate = ERR_GET_REASON(static_cast<unsigned long>(failure.value())) ==
                                 SSL_R_CERTIFICATE_VERIFY_FAILED;
        done(cannot("agree on TLS", failure) +
             (certificate ? "" : " (is TLS expected on this port?)"));
      });
    });
  }
  void read(asio::mutable_buffer into, OnBytes done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void write(asio::const_buffer all, OnBytes done) override {
    asio::async_write(stream_, all, std::move(done));
  }
  void close() override { dialer_.close(stream_.next_layer()); }

 private:
  std::shared_ptr<Tls> tls_;
  std::string name_;
  Dialer dialer_;
  std::shared_ptr<Tls::Context> context_;
  asio::ssl::stream<net::TcpSocket> stream_;
};

}  // namespace

std::shared_ptr<Stream> make_stream(net::Loop& loop, const Address& address,
                                    std::shared_ptr<Tls> tls) {
  if (address.port == 0) return std::make_shared<UnixStream>(loop, address);
  if (tls) return std::make_shared<TlsStream>(loop, address, std::move(tls));
  return std::make_shared<TcpStream>(loop, address);
}

}  // namespace weir::store::redis
