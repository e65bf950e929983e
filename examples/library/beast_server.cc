// A server on Boost.Beast that obeys a policy: beast_server POLICY PORT
//
// Answers "hello" to every request that the policy lets pass, with the headers that tell a client
// how much it has left; else what the policy says of refusals.

#include <weir/engine.h>
#include <weir/middleware/beast.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using Response = http::response<http::string_body>;

Response answer(weir::Engine& engine, const http::request<http::string_body>& request,
                const std::string& peer) {
  const auto decision = weir::beast::check(engine, request, peer);
  const weir::HttpAnswer said = weir::beast::answer(decision);
  Response response(static_cast<http::status>(said.status), request.version());
  weir::beast::add_headers(response, said);
  response.set(http::field::content_type, said.status == 200 ? "text/plain" : said.content_type);
  response.body() = said.status == 200 ? "hello\n" : said.body;
  response.keep_alive(request.keep_alive());
  response.prepare_payload();
  return response;
}

asio::awaitable<void> serve(weir::Engine& engine, Tcp::socket socket) {
  try {
    const std::string peer = socket.remote_endpoint().address().to_string();
    boost::beast::flat_buffer buffer;
    for (bool open = true; open;) {
      http::request<http::string_body> request;
      co_await http::async_read(socket, buffer, request, asio::use_awaitable);
      const Response response = answer(engine, request, peer);
      co_await http::async_write(socket, response, asio::use_awaitable);
      open = response.keep_alive();
    }
  } catch (const std::exception&) {
    // The client has gone, or sent what is no HTTP: nothing to answer.
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
    std::fprintf(stderr, "usage: beast_server POLICY PORT\n");
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
    std::printf("http://127.0.0.1:%d\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    asio::co_spawn(loop, listen(*engine, std::move(acceptor)), asio::detached);
    loop.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "beast_server: %s\n", error.what());
    return 1;
  }
}
