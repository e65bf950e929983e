#include "app/demo.h"

#include <cstdio>

#include "app/drain.h"
#include "app/listen_options.h"
#include "app/signals.h"
#include "policy/address.h"
#include "serve/demo/server.h"

namespace weir::app {

int run_demo(const DemoOptions& options) {
  const auto parsed = policy::parse_address(options.listen);
  if (const auto* mistake = std::get_if<policy::ScalarError>(&parsed)) {
    std::fprintf(stderr, "weir: --listen %s\n", mistake->message.c_str());
    return kExitUsage;
  }
  const auto& address = std::get<policy::Address>(parsed);
  signals::block();
  net::Loops loops(1);
  auto server = demo::open(loops, listen_address(address));
  if (!server) {
    std::fprintf(stderr, "weir: demo: %s\n", server.error().message.c_str());
    return kExitFailed;
  }
  (*server)->start();
  loops.start();
  std::printf("demo: %s echoes requests, /ws echoes WebSocket messages\nready\n",
              url_of(**server, "http").c_str());
  std::fflush(stdout);
  net::Loop control(0);
  bool stopped = false;
  const signals::Watch watch(
      control, [&stopped](signals::Event event) { stopped = event == signals::Event::kStop; });
  control.run_until([&stopped] { return stopped; });
  drain_all({[&](auto done) { (*server)->drain(std::chrono::seconds(5), std::move(done)); }});
  loops.stop();
  return kExitOk;
}

}  // namespace weir::app
