#include "app/listeners.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "app/listen_options.h"
#include "base/counted.h"
#include "base/log.h"
#include "engine/compiled_policy.h"
#include "engine/request_counters.h"
#include "net/server.h"
#include "policy/identity.h"
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
  policy::Listener wanted;  // as the policy writes it: port 0 is any free one
  std::unique_ptr<gateway::Gateway> gateway;
  std::unique_ptr<net::Server> server;  // of all but the gateway

  net::Server& listening() { return gateway ? gateway->server() : *server; }
  std::string address() { return listening().address(); }
  std::size_t connections() { return listening().connections(); }
  void start() { gateway ? gateway->start() : server->start(); }
  void drain(Duration within, std::function<void()> done) {
    gateway ? gateway->drain(within, std::move(done)) : server->drain(within, std::move(done));
  }
};

Listeners::Opened::Opened() = default;
Listeners::Opened::~Opened() = default;

namespace {

struct Section {
  const char* name;
  const char* scheme;  // with `path`, what the line at the start tells
  const char* path;
  const policy::Listener* (*listener)(const policy::Policy& policy);
};

template <typename Part>
const policy::Listener* listener_in(const std::optional<Part>& section) {
  return section ? &*section : nullptr;
}

// By kind.
constexpr std::array<Section, 5> kSections{{
    {"gateway", "http", "", [](const policy::Policy& p) { return listener_in(p.gateway); }},
    {"api", "http", "/v1/check", [](const policy::Policy& p) { return listener_in(p.api); }},
    {"resp", "redis", "", [](const policy::Policy& p) { return listener_in(p.resp); }},
    {"grpc", "http", "", [](const policy::Policy& p) { return listener_in(p.grpc); }},
    {"admin", "http", "/", [](const policy::Policy& p) { return listener_in(p.admin); }},
}};

// "http://a:1, http://b:2", "2 routes, else http://a:1".
std::string describe_upstreams(const policy::Gateway& gateway) {
  const std::string text = describe(gateway.upstream);
  if (gateway.routes.empty()) return text;
  return counted(gateway.routes.size(), "route") + (text.empty() ? "" : ", else " + text);
}

// As the section of the policy says it.
Error in_section(const char* name, const Error& error) {
  return Error{error.code, std::string(name) + ": " + error.message};
}

}  // namespace

Duration drain_time(const policy::Policy& policy) {
  return policy.gateway ? policy.gateway->timeouts.drain : policy::GatewayTimeouts{}.drain;
}

Listeners::Listeners(Services services)
    : services_(std::move(services)),
      rate_limiter_(services_.engine, services_.adhoc, services_.clock, services_.registry),
      upstreams_(services_.loops, services_.registry) {}

Listeners::~Listeners() = default;

Listeners::Listener* Listeners::find(Kind kind) const {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [kind](const auto& one) { return one->kind == kind; });
  return found == open_.end() ? nullptr : found->get();
}

Result<std::unique_ptr<Listeners::Opened>> Listeners::open(const policy::Policy& policy) {
  auto opened = std::make_unique<Opened>();
  const auto undo = [&](Error error) {
    for (auto& useless : opened->listeners) retire(std::move(useless), Duration{0});
    return error;
  };
  for (std::size_t i = 0; i < kSections.size(); ++i) {
    const Kind kind{static_cast<std::uint8_t>(i)};
    const policy::Listener* const section = kSections[i].listener(policy);
    Listener* const before = find(kind);
    if (section == nullptr || (before != nullptr && same_listener(before->wanted, *section))) {
      continue;
    }
    if (before != nullptr && before->wanted.listen.to_string() == section->listen.to_string()) {
      for (auto& socket : before->listening().share_sockets()) inherited_.add(std::move(socket));
    }
    auto one = open_one(kind, *section);
    if (!one) return undo(in_section(kSections[i].name, one.error()));
    opened->listeners.push_back(std::move(*one));
  }
  warn_of_unwanted_sockets();
  const auto certificates = read_certificates(policy);
  if (!certificates) return undo(certificates.error());
  // WHY what is open last: nothing can fail any more once it has another file.
  for (const auto* all : {&opened->listeners, &open_}) {
    for (const auto& one : *all) {
      if (!one->gateway) continue;
      if (auto used = one->gateway->use_access_log(*policy.gateway); !used) {
        return undo(in_section("gateway", used.error()));
      }
    }
  }
  for (const auto& put_in_force : *certificates) put_in_force();
  return opened;
}

void Listeners::warn_of_unwanted_sockets() {
  for (const std::string& address : inherited_.left()) {
    log::warning("a listening socket was passed to weir that no listener asks for: " + address);
  }
  inherited_ = {};
}

net::ListenOptions Listeners::options_of(Kind kind, const policy::Listener& section) {
  net::ListenOptions options =
      listen_options(kSections[static_cast<std::size_t>(kind)].name, section);
  options.registry = &services_.registry;
  options.inherited = &inherited_;
  options.is_trusted = [&engine = services_.engine](const IpAddress& peer) {
    return policy::is_trusted(engine.current()->policy().identity, peer);
  };
  return options;
}

Result<std::unique_ptr<Listeners::Listener>> Listeners::open_one(Kind kind,
                                                                 const policy::Listener& section) {
  auto listener = std::make_unique<Listener>();
  listener->kind = kind;
  listener->wanted = section;
  if (kind == Kind::kGateway) {
    auto opened =
        gateway::Gateway::open(services_.loops, options_of(kind, section), services_.engine,
                               services_.clock, services_.registry, upstreams_);
    if (!opened) return opened.error();
    listener->gateway = std::move(*opened);
    return listener;
  }
  auto opened = open_server(kind, options_of(kind, section));
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

Result<std::unique_ptr<net::Server>> Listeners::open_server(Kind kind,
                                                            net::ListenOptions listener) {
  auto& [loops, engine, adhoc, clock, registry, admin] = services_;
  if (kind == Kind::kResp) {
    resp::Options options;
    options.listener = std::move(listener);
    return resp::open(loops, std::move(options), {engine, adhoc, clock, registry});
  }
  if (kind == Kind::kGrpc) {
    grpc::Options options;
    options.listener = std::move(listener);
    options.token = [&engine = services_.engine] {
      const auto policy = engine.current();
      return policy->policy().grpc ? policy->policy().grpc->token : std::string();
    };
    return grpc::open(loops, std::move(options), grpc::all_methods(rate_limiter_));
  }
  http::Options options;
  options.clock = &clock;
  options.listener = std::move(listener);
  if (kind == Kind::kAdmin) return http::open(loops, std::move(options), admin);
  options.unreadable = engine::RequestCounters(registry, "api").error;
  return http::open(
      loops, std::move(options),
      api::make_handler({engine, adhoc, clock, registry}, grpc::json_handler(rate_limiter_)));
}

Result<bool> Listeners::load_certificates(const policy::Policy& policy) {
  const auto certificates = read_certificates(policy);
  if (!certificates) return certificates.error();
  for (const auto& put_in_force : *certificates) put_in_force();
  return true;
}

Result<Listeners::Certificates> Listeners::read_certificates(const policy::Policy& policy) {
  Certificates all;
  for (const auto& one : open_) {
    const Section& kind = kSections[static_cast<std::size_t>(one->kind)];
    const auto* section = kind.listener(policy);
    if (section == nullptr || !section->tls || !one->listening().has_tls()) continue;
    auto read = one->listening().prepare_tls(tls_files(*section->tls));
    if (!read) return in_section(kind.name, read.error());
    all.push_back(std::move(*read));
  }
  if (policy.gateway) {
    auto read = upstreams_.prepare_tls(*policy.gateway);
    if (!read) return in_section("gateway", read.error());
    all.push_back(std::move(*read));
  }
  return all;
}

void Listeners::reopen_logs() {
  for (const auto* all : {&open_, &retired_}) {
    for (const auto& one : *all) {
      if (one->gateway) one->gateway->reopen_access_log();
    }
  }
}

std::vector<FileDescriptor> Listeners::share_sockets() const {
  const std::lock_guard lock(mutex_);
  std::vector<FileDescriptor> all;
  for (const auto& one : open_) {
    for (auto& socket : one->listening().share_sockets()) all.push_back(std::move(socket));
  }
  return all;
}

void Listeners::set_handed_over() {
  const std::lock_guard lock(mutex_);
  for (const auto& one : open_) one->listening().set_handed_over();
}

void Listeners::take(std::unique_ptr<Opened> opened, const policy::Policy& policy) {
  if (policy.gateway) upstreams_.install(*policy.gateway);
  const std::lock_guard lock(mutex_);
  for (auto& one : opened->listeners) {
    const auto same = [&](const auto& other) { return other->kind == one->kind; };
    const auto before = std::find_if(open_.begin(), open_.end(), same);
    one->start();
    if (before == open_.end()) {
      open_.push_back(std::move(one));
      continue;
    }
    const std::string name = kSections[static_cast<std::size_t>(one->kind)].name;
    if (one->wanted.listen.to_string() == (*before)->wanted.listen.to_string()) {
      (*before)->listening().set_handed_over();
      log::info("reload: " + name +
                " listens as the policy says now; open connections go on as "
                "they began");
    } else {
      log::info("reload: " + name + " listens on " + one->address() + ", and on " +
                (*before)->address() + " no more");
    }
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
    std::string line =
        std::string(section.name) + ": " + url_of(one->listening(), section.scheme, section.path);
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
