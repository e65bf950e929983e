// A service that asks weir before it takes an order: orders PORT CHECK_PORT
//
// POST /api/orders: the check API decides by the client's address and, if it is signed in, its
// user; a refusal goes to the client as weir words it, its body naming the limit. A thread a
// connection: short, and enough for an example.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/src.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

namespace {

constexpr const char* kOrders = "/api/orders";

// One connection to the check API.
class Weir {
 public:
  explicit Weir(unsigned short port) : socket_(loop_) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
    socket_.set_option(Tcp::no_delay(true));
  }

  Response check(const boost::json::object& attributes) {
    Request question(http::verb::post, "/v1/check", 11);
    question.set(http::field::host, "weir");
    question.body() = boost::json::serialize(boost::json::object{{"attributes", attributes}});
    question.prepare_payload();
    http::write(socket_, question);
    Response answer;
    http::read(socket_, buffer_, answer);
    return answer;
  }

 private:
  asio::io_context loop_;
  Tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
};

boost::json::object attributes_of(const Request& request, const std::string& peer) {
  boost::json::object known{
      {"ip", peer}, {"method", std::string(request.method_string())}, {"path", kOrders}};
  // A real service takes the user from a session that it has checked.
  const auto user = request.find("X-User-Id");
  if (user != request.end()) known["user"] = std::string(user->value());
  return known;
}

Response answer(Weir& weir, const Request& request, const std::string& peer) {
  Response response(http::status::ok, request.version());
  if (request.method() == http::verb::post && request.target() == kOrders) {
    response = weir.check(attributes_of(request, peer));
    if (response.result() == http::status::ok) response.body() = "{\"order\":\"taken\"}\n";
  } else {
    response.body() = "{\"status\":\"up\"}\n";
  }
  response.set(http::field::content_type, "application/json");
  response.keep_alive(request.keep_alive());
  response.prepare_payload();
  return response;
}

void serve(Tcp::socket socket, unsigned short check_port) {
  try {
    socket.set_option(Tcp::no_delay(true));
    const std::string peer = socket.remote_endpoint().address().to_string();
    Weir weir(check_port);
    boost::beast::flat_buffer buffer;
    for (bool open = true; open;) {
      Request request;
      http::read(socket, buffer, request);
      const Response response = answer(weir, request, peer);
      http::write(socket, response);
      open = response.keep_alive();
    }
  } catch (const std::exception&) {
    // The client has gone, sent what is no HTTP, or weir is not there: the connection ends.
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: orders PORT CHECK_PORT\n");
    return 2;
  }
  try {
    asio::io_context loop;
    const auto port = static_cast<unsigned short>(std::atoi(argv[1]));
    const auto check_port = static_cast<unsigned short>(std::atoi(argv[2]));
    Tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), port});
    std::printf("listens on %d\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    for (;;) std::thread(serve, acceptor.accept(), check_port).detach();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orders: %s\n", error.what());
    return 1;
  }
}
