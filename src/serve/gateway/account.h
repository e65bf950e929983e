// Account: what an admitted request was charged, from the decision to the end of its response.
//
// Corrects the cost when the response begins (`refund_when`, `settle`), once. Holds the places of
// limits on calls in flight until the request has ended, however it does, and renews them for as
// long: a response may take longer than the limit's timeout, which is there for holders who died.
//
// Costs nothing for requests that met no such limit. THREADS: the loop's.

#pragma once

#include "engine/receipt.h"
#include "net/loop.h"
#include "serve/gateway/worker.h"
#include "wire/http1/response.h"

namespace weir::gateway {

class Account {
 public:
  explicit Account(Worker& worker);
  ~Account() { close(); }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  // REQUIRES: the one before is closed.
  void open(const engine::Decision& decision);
  // The upstream's final response begins.
  void on_response(const http1::ResponseHead& head);
  // The request has ended.
  void close();

 private:
  void renew();

  Worker& worker_;
  engine::Receipt receipt_;
  net::Deadline renewal_;
};

}  // namespace weir::gateway
