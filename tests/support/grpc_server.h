// GrpcServer: a server of a few simple methods, on one loop, and clients of it, for tests.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/grpc/server.h"
#include "support/grpc_client.h"

namespace weir::testing {

using grpc::Kind;
using grpc::Methods;
using grpc::Reply;
using grpc::Status;

// Methods: /t.T/Echo answers what it gets, /t.T/Open too and wants no token, /t.T/Fail ends with a
// status, /t.T/Later answers when the test says so, /t.T/Chat echoes each message as it comes,
// /t.T/Big answers 256 KiB.
class GrpcServer : public ::testing::Test {
 protected:
  GrpcClient& start(grpc::Options options = {}) {
    options.listener.listen = {"127.0.0.1", 0};
    auto opened = grpc::open(loops_, options, methods());
    EXPECT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
    server_->start();
    loops_.start();
    return connect();
  }

  GrpcClient& connect(std::uint32_t stream_window = 65535) {
    clients_.push_back(std::make_unique<GrpcClient>(server_->port(), stream_window));
    return *clients_.back();
  }

  Methods methods() {
    return {
        {"/t.T/Echo", Kind::kUnary, [](std::string_view m, Reply reply) { reply.finish(m); }},
        {"/t.T/Open", Kind::kUnary, [](std::string_view m, Reply reply) { reply.finish(m); }, true},
        {"/t.T/Fail", Kind::kUnary,
         [](std::string_view, Reply reply) { reply.end(Status::kUnavailable, "no\nstore"); }},
        {"/t.T/Later", Kind::kUnary,
         [this](std::string_view, Reply reply) {
           later_ = std::move(reply);
           loops_.at(0).post([this] {
             if (later_ && answer_later_) later_->finish("late");
           });
         }},
        {"/t.T/Chat", Kind::kStream, [](std::string_view m, Reply reply) { reply.send(m); }},
        {"/t.T/Watch", Kind::kWatch, [](std::string_view m, Reply reply) { reply.send(m); }},
        {"/t.T/Big", Kind::kUnary,
         [](std::string_view, Reply reply) { reply.finish(std::string(256 << 10, 'b')); }},
    };
  }

  void TearDown() override { loops_.stop(); }

  net::Loops loops_{1};
  std::optional<Reply> later_;
  bool answer_later_ = true;
  std::unique_ptr<net::Server> server_;
  std::vector<std::unique_ptr<GrpcClient>> clients_;
};

}  // namespace weir::testing
