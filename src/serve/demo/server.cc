#include "serve/demo/server.h"

#include "serve/demo/handler.h"
#include "serve/http/server.h"

namespace weir::demo {

Result<std::unique_ptr<net::Server>> open(net::Loops& loops, net::ListenAddress listen) {
  http::Options options;
  options.listener.name = "demo";
  options.listener.listen = std::move(listen);
  return http::open(loops, std::move(options), answer);
}

}  // namespace weir::demo
