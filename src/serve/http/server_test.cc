#include "serve/http/server.h"

#include <gtest/gtest.h>

#include <future>

#include "support/raw_client.h"

namespace weir::http {
namespace {

using testing::RawClient;

// Answers "METHOD path?query body".
void echo(const Request& request, Response& response) {
  response.body = std::string(request.method) + ' ' + std::string(request.path) + '?' +
                  std::string(request.query) + ' ' + std::string(request.body);
}

class HttpServer : public ::testing::Test {
 protected:
  RawClient& start(Options options = {}) {
    options.listener.name = "test";
    options.listener.listen = {"127.0.0.1", 0};
    auto opened = open(loops_, std::move(options), echo);
    EXPECT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
    server_->start();
    loops_.start();
    return connect();
  }

  RawClient& start_async(AsyncHandler handler) {
    Options options;
    options.listener.name = "test";
    options.listener.listen = {"127.0.0.1", 0};
    auto opened = open(loops_, std::move(options), std::move(handler));
    EXPECT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
    server_->start();
    loops_.start();
    return connect();
  }

  RawClient& connect() {
    clients_.push_back(std::make_unique<RawClient>(server_->port()));
    return *clients_.back();
  }

  void TearDown() override { loops_.stop(); }

  net::Loops loops_{1};
  std::unique_ptr<net::Server> server_;
  std::vector<std::unique_ptr<RawClient>> clients_;
};

TEST_F(HttpServer, AnswersAndKeepsTheConnection) {
  RawClient& client = start();
  client.send("GET /a?x=1 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.read_response(),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: 11\r\n\r\nGET /a?x=1 ");
  client.send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_NE(client.read_response().find("POST /b? abc"), std::string::npos);
}

TEST_F(HttpServer, AnswersPipelinedRequestsInOrder) {
  RawClient& client = start();
  std::string requests;
  for (int i = 0; i < 1000; ++i) {
    requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  }
  client.send(requests);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_NE(client.read_response().find("GET /" + std::to_string(i) + "? "), std::string::npos);
  }
}

// A head that is the one before is not parsed again: what follows it must be read all the same.
TEST_F(HttpServer, AnswersTheSameHeadAgainWithWhatCameWithItThisTime) {
  RawClient& client = start();
  const std::string head = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n";
  const std::string chunked = "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string other = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n";
  const std::string longer =
      "GET /l HTTP/1.1\r\nHost: h\r\nX: " + std::string(600, 'x') + "\r\n\r\n";
  client.send(head + "one" + head + "two" + other + "four" + head + "six" + longer + longer);
  client.send(chunked + "1\r\na\r\n0\r\n\r\n" + chunked + "2\r\nbc\r\n0\r\n\r\n");
  for (const char* answer :
       {"/b? one", "/b? two", "/b? four", "/b? six", "GET /l? ", "GET /l? ", "/c? a", "/c? bc"}) {
    EXPECT_NE(client.read_response().find(answer), std::string::npos) << answer;
  }
}

TEST_F(HttpServer, AnswersTheSameHeadAgainHoweverItIsCut) {
  RawClient& client = start();
  const std::string request = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
  client.send(request);
  EXPECT_NE(client.read_response().find("/b? abc"), std::string::npos);
  for (std::size_t cut = 1; cut < request.size(); ++cut) {
    client.send(request.substr(0, cut));
    client.send(request.substr(cut) + request);
    EXPECT_NE(client.read_response().find("/b? abc"), std::string::npos) << cut;
    EXPECT_NE(client.read_response().find("/b? abc"), std::string::npos) << cut;
  }
  client.send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\rbc");
  EXPECT_NE(client.read_response().find(" 400 "), std::string::npos);
}

TEST_F(HttpServer, ReadsARequestThatArrivesByteByByte) {
  RawClient& client = start();
  for (const char c : std::string_view("POST /slow HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                                       "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")) {
    client.send({&c, 1});
  }
  EXPECT_NE(client.read_response().find("POST /slow? abcde"), std::string::npos);
}

TEST_F(HttpServer, HeadHasALengthAndNoBody) {
  RawClient& client = start();
  client.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(client.read_until("\r\n\r\n").find("Content-Length: 9\r\n"), std::string::npos);
  EXPECT_NE(client.read_response().find("GET /b? "), std::string::npos);
}

TEST_F(HttpServer, TellsAClientThatWaitsToSendItsBody) {
  RawClient& client = start();
  client.send("PUT /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_NE(client.read_response().find("PUT /x? ok"), std::string::npos);
}

TEST_F(HttpServer, RefusesABodyOverTheBoundByItsLengthAlone) {
  Options options;
  options.max_body = 10;
  RawClient& client = start(std::move(options));
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n");
  const std::string response = client.read_all();
  EXPECT_EQ(response.rfind("HTTP/1.1 413 ", 0), 0u) << response;
  EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
}

TEST_F(HttpServer, RefusesAChunkedBodyOverTheBoundAlsoWhenItIsFramingOnly) {
  Options options;
  options.max_body = 10;
  RawClient& client = start(std::move(options));
  client.send(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "1;xxxxxxxxxx\r\na\r\n1;xxxxxxxxxx\r\na\r\n");
  EXPECT_EQ(client.read_all().rfind("HTTP/1.1 413 ", 0), 0u);
}

TEST_F(HttpServer, AnswersABadRequestOnceAndCloses) {
  RawClient& client = start();
  client.send("GET / HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\nabcGET /x HTTP/1.1\r\n\r\n");
  const std::string response = client.read_all();
  EXPECT_EQ(response.rfind("HTTP/1.1 400 ", 0), 0u) << response;
  EXPECT_EQ(response.find("HTTP/1.1", 9), std::string::npos) << "one answer only";
}

TEST_F(HttpServer, AnswersWhatWasAskedBeforeTheClientStoppedSending) {
  RawClient& client = start();
  client.send("GET /last HTTP/1.1\r\nHost: h\r\n\r\n");
  client.finish_sending();
  EXPECT_NE(client.read_all().find("GET /last? "), std::string::npos);
}

TEST_F(HttpServer, CountsWhatItRefusesBeforeTheHandlerSeesIt) {
  metrics::Registry registry;
  Options options;
  options.unreadable = registry.counter("unreadable", "Requests.", {});
  RawClient& client = start(options);
  client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGARBAGE\r\n\r\n");
  EXPECT_NE(client.read_response().find(" 200 "), std::string::npos);
  EXPECT_NE(client.read_response().find(" 400 "), std::string::npos);
  EXPECT_EQ(options.unreadable.value(), 1u);
}

TEST_F(HttpServer, HonoursConnectionClose) {
  RawClient& client = start();
  client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\n\r\n");
  const std::string response = client.read_all();
  EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(response.find("/2"), std::string::npos);
}

TEST_F(HttpServer, TellsAnOldClientThatTheConnectionStays) {
  RawClient& client = start();
  const std::string request = "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  for (int i = 0; i < 2; ++i) {
    client.send(request);
    EXPECT_NE(client.read_response().find("Connection: keep-alive\r\n"), std::string::npos);
  }
}

TEST_F(HttpServer, GivesARequestOneDeadlineHoweverItDrips) {
  Options options;
  options.request_timeout = std::chrono::milliseconds(50);
  RawClient& client = start(std::move(options));
  client.send("GET / HTTP/1.1\r\n");
  EXPECT_EQ(client.read_all().rfind("HTTP/1.1 408 ", 0), 0u);
}

TEST_F(HttpServer, ClosesAnIdleConnectionInSilence) {
  Options options;
  options.request_timeout = std::chrono::milliseconds(50);
  options.idle_timeout = std::chrono::milliseconds(50);
  RawClient& client = start(std::move(options));
  EXPECT_EQ(client.read_all(), "");
}

TEST_F(HttpServer, StopsReadingFromAClientThatDoesNotRead) {
  Options options;
  options.max_unsent = 1024;
  RawClient& client = start(std::move(options));
  const int small = 4096;
  ::setsockopt(client.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  const timeval patience{0, 300'000};
  ::setsockopt(client.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const std::string request = "GET /" + std::string(500, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n";
  std::size_t sent = 0;
  while (sent < 200'000 && client.send(request)) ++sent;
  EXPECT_LT(sent, 200'000u) << "a server without bound would take them all";
}

TEST_F(HttpServer, AnswersAllThatWasAskedBeforeTheClientStoppedSending) {
  Options options;
  options.max_unsent = 64;  // what comes behind waits
  RawClient& client = start(std::move(options));
  std::string requests;
  for (int i = 0; i < 500; ++i)
    requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  client.send(requests);
  client.finish_sending();
  const std::string answers = client.read_all();
  std::size_t count = 0;
  for (std::size_t at = answers.find("HTTP/1.1 200"); at != std::string::npos; ++count) {
    at = answers.find("HTTP/1.1 200", at + 1);
  }
  EXPECT_EQ(count, 500u);
}

TEST_F(HttpServer, KeepsTheOrderOfAnswersThatComeLater) {
  RawClient& client = start_async([&](const Request& request, Response& response, Done done) {
    response.body = request.path;
    if (request.path == "/slow") return loops_.at(0).post(std::move(done));
    done();
  });
  client.send(
      "GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /fast HTTP/1.1\r\nHost: h\r\n\r\n"
      "GET /slow HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string all = client.read_all();
  const auto first = all.find("/slow");
  const auto second = all.find("/fast");
  ASSERT_NE(second, std::string::npos) << all;
  EXPECT_LT(first, second);
  EXPECT_NE(all.find("/slow", second), std::string::npos);
}

TEST_F(HttpServer, AnAnswerThatComesAfterTheClientHasGoneIsDropped) {
  Done kept;
  std::promise<void> asked;
  RawClient& client = start_async([&](const Request&, Response&, Done done) {
    kept = std::move(done);
    asked.set_value();
  });
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  asked.get_future().wait();
  clients_.clear();
  std::promise<void> dropped;
  server_->drain(std::chrono::milliseconds(1), [] {});
  loops_.at(0).post([&] {
    kept();
    dropped.set_value();
  });
  dropped.get_future().wait();
}

TEST_F(HttpServer, ARequestThatCrossesTheDrainIsAnsweredAndTheConnectionEnds) {
  RawClient& client = start();
  client.send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(client.read_response(), "");
  std::promise<void> drained;
  server_->drain(std::chrono::seconds(5), [&] { drained.set_value(); });
  // What is posted now runs after the drain has reached the connection.
  std::promise<void> reached;
  loops_.at(0).post([&] { reached.set_value(); });
  reached.get_future().wait();
  client.send("GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_NE(answer.find("GET /2? "), std::string::npos) << answer;
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
}

TEST_F(HttpServer, DrainEndsIdleConnectionsAndFinishesOthers) {
  RawClient& idle = start();
  RawClient& busy = connect();
  idle.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(idle.read_response(), "");
  busy.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na");
  // A further connection, served after the bytes above have been read by the one loop.
  RawClient& probe = connect();
  probe.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(probe.read_response(), "");
  server_->drain(std::chrono::seconds(5), [] {});
  EXPECT_TRUE(idle.at_end());
  busy.send("b");
  EXPECT_NE(busy.read_all().find("Connection: close\r\n"), std::string::npos);
}

}  // namespace
}  // namespace weir::http
