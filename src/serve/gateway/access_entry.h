// AccessEntry: one line of the access log, put together while its request is answered.
//
//   203.0.113.7 - ann [30/Nov/2026:12:30:07 +0000] "POST /login HTTP/1.1" 429 103 "-" "curl/7.88.1"
//     decision=denied limit=login source=memory retry_after=5 request_id=... seconds=0.000213
//   {"time":"2026-11-30T12:30:07.123Z","ip":"203.0.113.7","user":"ann","method":"POST",...}
//
// Whatever a client sends, a line stays one line of bounded length: what is not printable ASCII is
// escaped, long values are cut. Queries and headers but Referer and User-Agent never stand in it,
// queries by `query: true` only.
//
// THREADS: one request, one thread.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "policy/policy.h"
#include "serve/gateway/request_facts.h"
#include "wire/http1/request.h"

namespace weir::gateway {

class AccessEntry {
 public:
  // `form`: where keys are not told, addresses and users are not either.
  AccessEntry(const policy::AccessLog& settings, policy::KeyForm form, Instant began);

  // Who asks for what.
  void describe(const http1::RequestHead& head, const RequestFacts& facts);
  // The same of a request that was answered before it was known who asks.
  void describe(const http1::RequestHead& head, std::string_view peer, std::string_view request_id);
  // Of what is no request.
  void describe(std::string_view peer, std::string_view request_id);
  void decided(const engine::Decision& decision);

  // The upstream's final status.
  void set_status(int status) { status_ = status; }
  int status() const { return status_; }  // 0: none yet

  // The whole line, with its newline. `bytes` of the body; `early`: it ended before its time.
  std::string line(int status, std::uint64_t bytes, bool early, Instant now);

 private:
  bool json() const { return settings_.format == policy::AccessFormat::kJson; }
  void describe_request(const http1::RequestHead& head, std::string_view ip, std::string_view user);
  std::string target_of(const http1::RequestHead& head) const;
  std::string referer_of(const http1::RequestHead& head) const;
  void add_text(std::string& out, std::string_view name, std::string_view value) const;
  void add_number(std::string& out, std::string_view name, std::string_view digits) const;
  void add_quoted(std::string& out, std::string_view value) const;

  policy::AccessLog settings_;
  bool tells_who_ = true;
  Instant began_;
  int status_ = 0;
  bool decided_ = false;
  std::string request_;   // what stands before the status
  std::string agents_;    // combined: behind it
  std::string decision_;  // and behind that
};

}  // namespace weir::gateway
