#include "app/listeners.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/log.h"
#include "net/server.h"
#include "serve/api/handler.h"
#include "serve/gateway/gateway.h"
#include "serve/grpc/json.h"
#include "serve/grpc/server.h"
#include "serve/grpc/service.h"
#include "serve/http/server.h"
#include "serve/resp/server.h"

namespace weir::app {

enum class Listeners::Kind : std::uint8_t { kGateway, kApi, kResp, kGrpc, kAdmin };

struct Listeners::Listener {
  Kind kind{};
  policy::Address wanted;  // as the policy writes it: port 0 is any free one
  std::unique_ptr<gateway::Gateway> gateway;
  std::unique_ptr<net::Server> server;  // of all but the gateway

  std::string address() const { return gateway ? gateway->address() : server->address(); }
  std::size_t connections() const {
    return gateway ? gateway->connections() : server->connections();
  }
  void start() { gateway ? gateway->start() : server->start(); }
  void drain(Duration within, std::function<void()> done) {
    gateway ? gateway->drain(within, std::move(done)) : server->drain(within, std::move(done));
  }
};

Listeners::Opened::Opened() = default;
Listeners::Opened::~Opened() = default;

namespace {

struct Section {
  std::string_view name;
  std::string_view scheme;  // with `path`, what the line at the start tells
  std::string_view path;
  std::optional<policy::Address> (*listen)(const policy::Policy& policy);
};

template <typename Part>
std::optional<policy::Address> listen_of(const std::optional<Part>& section) {
  if (!section) return std::nullopt;
  return section->listen;
}

// By kind.
constexpr std::array<Section, 5> kSections{{
    {"gateway", "http://", "", [](const policy::Policy& p) { return listen_of(p.gateway); }},
    {"api", "http://", "/v1/check", [](const policy::Policy& p) { return listen_of(p.api); }},
    {"resp", "redis://", "", [](const policy::Policy& p) { return listen_of(p.resp); }},
    {"grpc", "http://", "", [](const policy::Policy& p) { return listen_of(p.grpc); }},
    {"admin", "http://", "/", [](const policy::Policy& p) { return listen_of(p.admin); }},
}};

http::Options http_options(std::string name, const policy::Address& listen, const Clock& clock) {
  http::Options options;
  options.clock = &clock;
  options.name = std::move(name);
  options.listen = {listen.host, listen.port};
  return options;
}

std::string describe_upstreams(const policy::Gateway& gateway) {
  std::string text;
  for (const policy::Upstream& upstream : gateway.upstreams) {
    if (!text.empty()) text += ", ";
    text += "http://" + upstream.address.to_string();
  }
  return text;
}

}  // namespace

Duration drain_time(const policy::Policy& policy) {
  return policy.gateway ? policy.gateway->timeouts.drain : policy::GatewayTimeouts{}.drain;
}

Listeners::Listeners(Services services)
    : services_(std::move(services)),
      rate_limiter_(services_.engine, services_.adhoc, services_.clock, services_.registry) {}

Listeners::~Listeners() = default;

Listeners::Listener* Listeners::find(Kind kind) const {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [kind](const auto& one) { return one->kind == kind; });
  return found == open_.end() ? nullptr : found->get();
}

Result<std::unique_ptr<Listeners::Opened>> Listeners::open(const policy::Policy& policy) {
  auto opened = std::make_unique<Opened>();
  for (std::size_t i = 0; i < kSections.size(); ++i) {
    const Kind kind{static_cast<std::uint8_t>(i)};
    const auto listen = kSections[i].listen(policy);
    const Listener* before = find(kind);
    if (!listen || (before != nullptr && before->wanted.to_string() == listen->to_string())) {
      continue;
    }
    auto one = open_one(kind, policy, *listen);
    if (!one) {
      for (auto& useless : opened->listeners) retire(std::move(useless), Duration{0});
      return Error{one.error().code, std::string(kSections[i].name) + ": " + one.error().message};
    }
    opened->listeners.push_back(std::move(*one));
  }
  return opened;
}

Result<std::unique_ptr<Listeners::Listener>> Listeners::open_one(Kind kind,
                                                                 const policy::Policy& policy,
                                                                 const policy::Address& listen) {
  auto& [loops, engine, adhoc, clock, registry, admin] = services_;
  auto listener = std::make_unique<Listener>();
  listener->kind = kind;
  listener->wanted = listen;
  if (kind == Kind::kGateway) {
    auto opened = gateway::Gateway::open(loops, engine, clock, registry, *policy.gateway);
    if (!opened) return opened.error();
    listener->gateway = std::move(*opened);
    return listener;
  }
  Result<std::unique_ptr<net::Server>> opened = [&]() -> Result<std::unique_ptr<net::Server>> {
    if (kind == Kind::kApi) {
      http::Options options = http_options("api", listen, clock);
      options.unreadable =
          registry.counter("weir_requests_total", "Requests by what became of them.",
                           {{"listener", "api"}, {"outcome", "error"}});
      return http::open(
          loops, std::move(options),
          api::make_handler({engine, adhoc, clock, registry}, grpc::json_handler(rate_limiter_)));
    }
    if (kind == Kind::kResp) {
      resp::Options options;
      options.listen = {listen.host, listen.port};
      return resp::open(loops, std::move(options), {engine, adhoc, clock, registry});
    }
    if (kind == Kind::kGrpc) {
      grpc::Options options;
      options.listen = {listen.host, listen.port};
      return grpc::open(loops, std::move(options), grpc::all_methods(rate_limiter_));
    }
    return http::open(loops, http_options("admin", listen, clock), admin);
  }();
  if (!opened) return opened.error();
  listener->server = std::move(*opened);
  return listener;
}

std::vector<std::pair<std::string, std::size_t>> Listeners::connections() const {
  std::vector<std::pair<std::string, std::size_t>> open;
  const std::lock_guard lock(mutex_);
  for (const auto& one : open_) {
    const Section& section = kSections[static_cast<std::size_t>(one->kind)];
    open.emplace_back(section.name, one->connections());
  }
  return open;
}

void Listeners::take(std::unique_ptr<Opened> opened, const policy::Policy& policy) {
  const std::lock_guard lock(mutex_);
  for (auto& one : opened->listeners) {
    const auto same = [&](const auto& other) { return other->kind == one->kind; };
    const auto before = std::find_if(open_.begin(), open_.end(), same);
    one->start();
    if (before == open_.end()) {
      open_.push_back(std::move(one));
      continue;
    }
    const std::string_view name = kSections[static_cast<std::size_t>(one->kind)].name;
    log::info("reload: " + std::string(name) + " listens on " + one->address() + ", and on " +
              (*before)->address() + " no more");
    std::swap(*before, one);
    retire(std::move(one), drain_time(policy));
  }
  std::sort(open_.begin(), open_.end(),
            [](const auto& a, const auto& b) { return a->kind < b->kind; });
}

// WHY kept: a server may be destroyed once the loops stand still, and not before.
void Listeners::retire(std::unique_ptr<Listener> listener, Duration within) {
  listener->drain(within, [] {});
  retired_.push_back(std::move(listener));
}

void Listeners::print(const policy::Policy& policy) const {
  for (const auto& one : open_) {
    const Section& section = kSections[static_cast<std::size_t>(one->kind)];
    std::string line = std::string(section.name) + ": " + std::string(section.scheme) +
                       one->address() + std::string(section.path);
    if (one->kind == Kind::kGateway) line += " -> " + describe_upstreams(*policy.gateway);
    std::printf("%s\n", line.c_str());
  }
}

void Listeners::drain(Duration within) {
  std::vector<Drain> first;
  std::vector<Drain> last;
  for (const auto& one : open_) {
    std::vector<Drain>& drains = one->kind == Kind::kAdmin ? last : first;
    drains.push_back([&one = *one, within](auto done) { one.drain(within, std::move(done)); });
  }
  drain_all(first);
  drain_all(last);
}

}  // namespace weir::app
