// Router: which handler answers which path of the admin listener, and who may ask.
//
// THREADS: show() and pass() before the handler is made; the handler runs on every loop at once.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/message.h"

namespace weir::admin {

enum class Shown {
  kToAll,      // whoever reaches the listener
  kToViewers,  // on loopback anybody, beyond it who shows the token
};

// Whether the request may see what is shown to viewers. `token`: the one in force; empty: none.
bool may_look(const http::Request& request, std::string_view token);

class Router {
 public:
  // `token` gives the one in force; empty: none is set.
  explicit Router(std::function<std::string()> token) : token_(std::move(token)) {}

  // Answers GET and HEAD of this path.
  void show(std::string path, Shown shown, http::AsyncHandler handler);
  void show(std::string path, Shown shown, http::Handler handler);
  // Answers all else that begins so, whatever the method, and sees itself to who may ask.
  void pass(std::string prefix, http::AsyncHandler handler);

  http::AsyncHandler handler() &&;

 private:
  struct Route {
    std::string path;
    Shown shown = Shown::kToViewers;
    http::AsyncHandler answer;
  };

  void answer(const http::Request& request, http::Response& response, http::Done done) const;
  void show(const Route& route, const http::Request& request, http::Response& response,
            http::Done done) const;

  std::function<std::string()> token_;
  std::vector<Route> pages_;
  std::vector<Route> passed_;
};

}  // namespace weir::admin
