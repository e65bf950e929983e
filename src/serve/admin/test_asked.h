// A request as the server would hand it over, read by its parser, and the answer to it. Tests only.

#pragma once

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "net/loop.h"
#include "serve/http/message.h"
#include "wire/http1/request.h"

namespace weir::admin {

class Asked {
 public:
  Asked(std::string_view method, std::string_view target) {
    bytes_ = std::string(method) + ' ' + std::string(target) + " HTTP/1.1\r\nHost: h\r\n";
  }
  Asked& from(std::string_view address) {
    peer_ = *IpAddress::parse(address);
    return *this;
  }
  Asked& header(std::string_view name, std::string_view value) {
    bytes_ += std::string(name) + ": " + std::string(value) + "\r\n";
    return *this;
  }
  Asked& token(std::string_view token) {
    return header("Authorization", "Bearer " + std::string(token));
  }

  // Waits for it, on a loop of its own.
  http::Response answer(const http::AsyncHandler& handler) {
    bytes_ += "\r\n";
    http1::RequestParser parser;
    EXPECT_EQ(parser.parse(bytes_), http1::Progress::kComplete);
    const http1::RequestHead& head = parser.head();
    net::Loop loop(0);
    http::Request request;
    request.method = head.method;
    request.path = head.path;
    request.query = head.query;
    request.headers = head.headers;
    request.peer = peer_;
    request.head = &head;
    request.loop = &loop;
    http::Response response;
    bool done = false;
    handler(request, response, [&] { done = true; });
    while (!done) {
      loop.run_ready();
      std::this_thread::yield();
    }
    return response;
  }

 private:
  std::string bytes_;
  IpAddress peer_ = *IpAddress::parse("127.0.0.1");
};

}  // namespace weir::admin
