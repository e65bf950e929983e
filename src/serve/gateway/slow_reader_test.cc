// Clients that take the last bytes of their response late, or never.

#include <fstream>
#include <iterator>

#include "support/gateway_fixture.h"
#include "support/temporary_folder.h"

namespace weir::gateway {
namespace {

using std::chrono::milliseconds;

// A response of this size is taken from the upstream at once, and most of it waits in the gateway.
constexpr std::size_t kSize = 60'000;

void set_buffer(int fd, int option) {
  const int size = 4096;
  ::setsockopt(fd, SOL_SOCKET, option, &size, sizeof size);
}

class SlowReader : public GatewayTest {
 protected:
  // The kernel holds as good as nothing for the gateway's clients: connections have their buffer
  // from the socket that accepts them.
  void start() {
    GatewayTest::start();
    for (int fd = 0; fd < 1024; ++fd) {
      if (listens_for_clients(fd)) set_buffer(fd, SO_SNDBUF);
    }
  }

  bool listens_for_clients(int fd) const {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) return false;
    sockaddr_in address{};
    size = sizeof address;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    return listens != 0 && ntohs(address.sin_port) == gateway_->port();
  }

  RawClient small_client() {
    RawClient one(RawClient::Accepted{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)});
    set_buffer(one.fd(), SO_RCVBUF);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(gateway_->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(one.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return one;
  }

  // A client whose response has come from the upstream whole, and waits in the gateway.
  RawClient answered(const std::string& request) {
    RawClient one = small_client();
    one.send(request);
    RawClient upstream = accept();
    upstream.read_until("\r\n\r\n");
    upstream.send("HTTP/1.1 200 OK\r\n\r\n" + std::string(kSize, 'x'));
    upstream.finish_sending();
    EXPECT_TRUE(upstream.at_end()) << "all of it was taken";
    return one;
  }

  static std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  // Whether the connection ends in an error, told within four seconds.
  static bool is_reset(RawClient& one) {
    pollfd event{one.fd(), 0, 0};
    return ::poll(&event, 1, 4000) == 1 && (event.revents & POLLERR) != 0;
  }
};

const std::string kOld = "GET /a HTTP/1.0\r\n\r\n";
const std::string kLast = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

TEST_F(SlowReader, ThatTakesNothingOfALastResponseIsReset) {
  policy_.gateway->timeouts.body = milliseconds(50);
  start();
  for (const std::string& request : {kOld, kLast, kGet}) {
    RawClient one = answered(request);
    EXPECT_TRUE(is_reset(one)) << "a plain end would look like the end of the body: " << request;
  }
}

TEST_F(SlowReader, ThatSendsInsteadOfReadingIsResetAllTheSame) {
  policy_.gateway->timeouts.body = milliseconds(200);
  start();
  RawClient one = answered(kLast);
  std::future<void> sending = std::async(std::launch::async, [&one] {
    while (::send(one.fd(), "x", 1, MSG_NOSIGNAL) == 1) ::poll(nullptr, 0, 5);
  });
  EXPECT_EQ(sending.wait_for(std::chrono::seconds(4)), std::future_status::ready);
  one.finish_sending();
}

TEST_F(SlowReader, GetsItsLastResponseWholeWhileTheListenerDrains) {
  start();
  RawClient last = answered(kLast);
  RawClient next = answered(kGet);
  std::promise<void> drained;
  std::future<void> end = drained.get_future();
  gateway_->drain(std::chrono::minutes(5), [&] { drained.set_value(); });
  EXPECT_EQ(end.wait_for(milliseconds(2500)), std::future_status::timeout);
  for (RawClient* one : {&last, &next}) {
    EXPECT_TRUE(contains(one->read_until("\r\n\r\n"), "Transfer-Encoding: chunked"));
    EXPECT_EQ(one->read_until("0\r\n\r\n").size() / 1000, kSize / 1000);
    EXPECT_TRUE(one->at_end());
    one->close();
  }
  EXPECT_EQ(end.wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST_F(SlowReader, IsResetWhereADrainGivesUp) {
  start();
  RawClient one = answered(kOld);
  gateway_->drain(milliseconds(50), [] {});
  EXPECT_TRUE(is_reset(one));
}

TEST_F(SlowReader, IsToldFromOneThatIsCutOffInTheAccessLog) {
  policy_.gateway->timeouts.body = milliseconds(300);
  policy::AccessLog& log = policy_.gateway->access_log.emplace();
  const support::TemporaryFolder folder;
  log.file = folder / "access.log";
  start();
  ASSERT_TRUE(gateway_->use_access_log(*policy_.gateway));
  for (const bool reads : {true, false}) {
    RawClient one = answered(kLast);
    EXPECT_EQ(read_file(log.file), "") << "the response is on its way";
    if (reads) {
      one.read_all();
    } else {
      EXPECT_TRUE(is_reset(one));
    }
    std::string line;
    while ((line = read_file(log.file)).empty()) ::poll(nullptr, 0, 1);
    EXPECT_TRUE(contains(line, "\" 200 60000 ")) << line;
    EXPECT_EQ(contains(line, " ended=early "), !reads) << line;
    ASSERT_EQ(::truncate(log.file.c_str(), 0), 0);
  }
}

TEST_F(SlowReader, ThatHasEndedItsSideStillGetsWhatWasAnswered) {
  start();
  RawClient one = answered(kGet);
  one.finish_sending();
  EXPECT_TRUE(contains(one.read_until("\r\n\r\n"), "HTTP/1.1 200"));
  EXPECT_EQ(one.read_until("0\r\n\r\n").size() / 1000, kSize / 1000);
  EXPECT_TRUE(one.at_end());
}

}  // namespace
}  // namespace weir::gateway
