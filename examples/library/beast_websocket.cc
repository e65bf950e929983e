// A WebSocket server on Boost.Beast whose messages obey a policy: beast_websocket POLICY PORT
//
// Echoes what the policy lets pass, as a service would answer it; a refused message gets the
// policy's refusal, and the connection goes on. The user is who X-User-Id names: a real server
// takes it from a session that it has checked.

#include <weir/engine.h>
#include <weir/message_limiter.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using Tcp = asio::ip::tcp;
using Socket = websocket::stream<Tcp::socket>;
using Action = weir::MessageRuling::Action;

weir::Result<weir::MessageLimiter> limiter_of(weir::Engine& engine,
                                              const http::request<http::empty_body>& handshake,
                                              const std::string& peer) {
  const std::string path(handshake.target());
  const std::string user(handshake["X-User-Id"]);
  std::vector<weir::AttributeValue> known{{"ip", peer}, {"path", path}};
  if (!user.empty()) known.push_back({"user", user});
  return weir::MessageLimiter::make(engine, known);
}

asio::awaitable<void> answer(Socket& socket, const std::string& text) {
  const asio::const_buffer bytes = asio::buffer(text);
  co_await socket.async_write(bytes, asio::use_awaitable);
}

// False when the connection is to end.
asio::awaitable<bool> obey(Socket& socket, const weir::MessageRuling& ruling,
                           const std::string& message) {
  if (ruling.passes()) {
    asio::steady_timer held(socket.get_executor(), ruling.delay);
    co_await held.async_wait(asio::use_awaitable);
    co_await answer(socket, message);
    co_return true;
  }
  if (!ruling.reply.empty()) co_await answer(socket, ruling.reply);
  if (ruling.action != Action::kClose) co_return true;
  const std::string reason(ruling.close_reason);
  const websocket::close_reason why(static_cast<websocket::close_code>(ruling.close_code), reason);
  co_await socket.async_close(why, asio::use_awaitable);
  co_return false;
}

asio::awaitable<void> serve(weir::Engine& engine, Tcp::socket connection) {
  try {
    const std::string peer = connection.remote_endpoint().address().to_string();
    boost::beast::flat_buffer buffer;
    http::request<http::empty_body> handshake;
    co_await http::async_read(connection, buffer, handshake, asio::use_awaitable);
    auto limiter = limiter_of(engine, handshake, peer);
    if (!limiter) co_return;  // a path that is none
    Socket socket(std::move(connection));
    // Beast closes with 1009 by itself; the policy may have other plans for a byte more than it
    // reads.
    socket.read_message_max(limiter->max_inspect() + 1);
    co_await socket.async_accept(handshake, asio::use_awaitable);
    for (bool open = true; open;) {
      boost::beast::flat_buffer received;
      co_await socket.async_read(received, asio::use_awaitable);
      const std::string message = boost::beast::buffers_to_string(received.data());
      const weir::MessageRuling ruling = limiter->check(message);
      open = co_await obey(socket, ruling, message);
    }
  } catch (const std::exception&) {
    // The client has gone, or spoke no WebSocket: nothing to answer.
  }
}

asio::awaitable<void> listen(weir::Engine& engine, Tcp::acceptor acceptor) {
  for (;;) {
    Tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), serve(engine, std::move(socket)), asio::detached);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: beast_websocket POLICY PORT\n");
    return 2;
  }
  auto engine = weir::Engine::from_file(argv[1]);
  if (!engine) {
    std::fprintf(stderr, "%s\n", engine.error().message.c_str());
    return 2;
  }
  try {
    asio::io_context loop(1);
    const auto port = static_cast<unsigned short>(std::atoi(argv[2]));
    Tcp::acceptor acceptor(loop, Tcp::endpoint(asio::ip::address_v4::loopback(), port));
    std::printf("ws://127.0.0.1:%d\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    asio::co_spawn(loop, listen(*engine, std::move(acceptor)), asio::detached);
    loop.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "beast_websocket: %s\n", error.what());
    return 1;
  }
}
