#include "store/redis/stream.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

namespace weir::store::redis {
namespace {

using net::SystemError;
namespace asio = net::asio;
using UnixSocket = asio::basic_stream_socket<asio::local::stream_protocol, net::Executor>;

std::string cannot(const std::string& what, const SystemError& error) {
  return "cannot " + what + ": " + error.message();
}

// REQUIRES: the socket is in non-blocking mode.
template <typename Socket>
std::size_t send_now(Socket& socket, asio::const_buffer bytes) {
  SystemError error;
  const std::size_t sent = socket.write_some(bytes, error);
  return error ? 0 : sent;
}

class UnixStream final : public Stream {
 public:
  UnixStream(net::Loop& loop, const Address& address)
      : socket_(loop.executor()), path_(address.host) {}

  void connect(OnConnected done) override {
    if (path_.size() > kLongestPath) {
      asio::post(socket_.get_executor(), [done] { done("the path of the socket is too long"); });
      return;
    }
    socket_.async_connect(asio::local::stream_protocol::endpoint(path_),
                          [this, done](const SystemError& error) {
                            if (error) return done(cannot("connect", error));
                            SystemError ignored;
                            socket_.non_blocking(true, ignored);
                            done("");
                          });
  }
  void read(asio::mutable_buffer into, OnBytes done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void write(asio::const_buffer all, OnBytes done) override {
    asio::async_write(socket_, all, std::move(done));
  }
  std::size_t write_now(asio::const_buffer bytes) override { return send_now(socket_, bytes); }
  void close() override {
    SystemError ignored;
    socket_.close(ignored);
  }

 private:
  static constexpr std::size_t kLongestPath = 107;

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
                                socket.non_blocking(true, ignored);
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

class TcpStream final : public Stream {
 public:
  TcpStream(net::Loop& loop, const Address& address)
      : dialer_(loop, address), socket_(loop.executor()) {}

  void connect(OnConnected done) override { dialer_.dial(socket_, std::move(done)); }
  void read(asio::mutable_buffer into, OnBytes done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void write(asio::const_buffer all, OnBytes done) override {
    asio::async_write(socket_, all, std::move(done));
  }
  std::size_t write_now(asio::const_buffer bytes) override { return send_now(socket_, bytes); }
  void close() override { dialer_.close(socket_); }

 private:
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
