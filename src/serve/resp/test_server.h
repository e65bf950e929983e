// The RESP listener over a memory store and a clock that the test moves: "k 2 2 1" stands for
// CL.THROTTLE k 2 2 1. Tests only.
//
// THREADS: the test's.

#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "policy/load.h"
#include "serve/resp/server.h"
#include "support/memory_store.h"
#include "support/raw_client.h"
#include "wire/resp/writer.h"

namespace weir::resp {

using testing::RawClient;

class RespServer : public ::testing::Test {
 protected:
  RawClient& start(const std::string& policy_text = "limits: []\n", Options options = {}) {
    auto loaded = policy::load_text("test.yaml", policy_text, policy::Format::kYaml);
    EXPECT_TRUE(loaded.policy) << loaded.mistakes[0].to_line();
    EXPECT_TRUE(engine_.install(*std::move(loaded.policy)));
    options.listener.listen = {"127.0.0.1", 0};
    auto opened = open(loops_, options, {engine_, adhoc_, clock_, registry_});
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

  static std::string encode(const std::string& words) {
    std::istringstream in(words);
    std::vector<std::string> list{std::istream_iterator<std::string>(in), {}};
    const std::vector<std::string_view> views(list.begin(), list.end());
    std::string out;
    append_command(out, views);
    return out;
  }

  // The reply of one command: its lines joined by blanks, without those that only tell lengths.
  static std::string reply(RawClient& client) {
    const std::string line = client.read_until("\r\n");
    if (line.size() < 3) return "closed";
    const std::string text = line.substr(1, line.size() - 3);
    if (line[0] == '$') {
      if (text == "-1") return "nil";
      const std::string bulk = client.read_exactly(std::stoul(text) + 2);
      return bulk.substr(0, bulk.size() - 2);
    }
    if (line[0] != '*' && line[0] != '%') return line[0] == '-' ? "-" + text : text;
    std::string all;
    for (std::size_t i = 0; i < std::stoul(text) * (line[0] == '%' ? 2 : 1); ++i) {
      all += (i == 0 ? "" : " ") + reply(client);
    }
    return all;
  }

  std::string say(RawClient& client, const std::string& words) {
    client.send(encode(words));
    return reply(client);
  }
  // CL.THROTTLE's five integers.
  std::string cell(const std::string& words) { return say(*clients_[0], "CL.THROTTLE " + words); }

  void advance(Duration by) { clock_.set(clock_.now() + by); }

  ManualClock clock_{at_ns(1'700'000'000'000'000'000)};
  metrics::Registry registry_;
  store::MemoryStore store_;
  engine::Engine engine_{store_};
  engine::Adhoc adhoc_{store_, engine_};
  net::Loops loops_{1};
  std::unique_ptr<net::Server> server_;
  std::vector<std::unique_ptr<RawClient>> clients_;
};

constexpr Duration ms(std::int64_t n) {
  return std::chrono::milliseconds(n);
}

}  // namespace weir::resp
