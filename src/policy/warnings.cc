#include "policy/warnings.h"

#include <filesystem>

#include "policy/address.h"
#include "policy/gateway_doubts.h"
#include "policy/limit_doubts.h"
#include "policy/route_doubts.h"

namespace weir::policy {
namespace {

class Doubts {
 public:
  Doubts(Reader& reader, const Node& root, const Policy& policy)
      : reader_(reader), root_(root), policy_(policy) {}

  void identity() {
    const Entry* entry = root_.find("identity");
    if (entry == nullptr || entry->value->kind != Node::Kind::kMapping) return;
    const Node& node = *entry->value;
    const Identity& identity = policy_.identity;
    const bool header = identity.client_ip != ClientIpSource::kPeer &&
                        identity.client_ip != ClientIpSource::kProxyProtocol;
    if (node.find("client_ip") != nullptr && header && identity.trusted_proxies.empty()) {
      reader_.doubt(place_of(node, "client_ip"),
                    "client_ip names a header, but trusted_proxies is empty: the header is never "
                    "read, every client is its connection's peer",
                    "list the proxies in front under trusted_proxies, or write client_ip: peer");
    }
    if (identity.client_ip == ClientIpSource::kProxyProtocol && policy_.gateway &&
        !policy_.gateway->proxy_protocol) {
      reader_.doubt(place_of(node, "client_ip"),
                    "client_ip is proxy-protocol, but gateway.proxy_protocol is false: every "
                    "client is its connection's peer",
                    "write gateway.proxy_protocol: true");
    }
    for (const IpPrefix& block : identity.trusted_proxies) {
      if (!block.to_string().ends_with("/0")) continue;
      reader_.doubt(place_of(node, "trusted_proxies"),
                    "trusted_proxies holds " + block.to_string() +
                        ": anybody can choose the address that is counted");
    }
    if (identity.trust_clients && node.find("trust_clients") != nullptr) {
      reader_.doubt(place_of(node, "trust_clients"),
                    "trust_clients is true: a client chooses its own user and tier");
    }
  }

  // A server may read what we could not: its JSON may be laxer, or take the other of two equal
  // keys.
  void websocket() {
    const Entry* entry = root_.find("websocket");
    if (entry == nullptr || policy_.websocket.unreadable != Unreadable::kPass) return;
    reader_.doubt(
        place_of(*entry->value, "unreadable"),
        "unreadable is pass: a client can hide a message's kind, by naming it twice or by "
        "more than max_inspect bytes, and only limits on any kind count it",
        "write refuse or close, or limit message: \"*\" too");
  }

  // A page whose preflight is refused is told of a network error, whatever the answer says.
  void preflights() {
    if (!policy_.gateway || !policy_.response.cors.on()) return;
    const Entry* entry = root_.find("response");
    const Limit* counted = find_counted_preflight(policy_);
    if (entry == nullptr || counted == nullptr) return;
    reader_.doubt(place_of(*entry->value, "cors"),
                  "cors is on, and limit " + quote(counted->name) +
                      " counts preflights (OPTIONS): a page whose preflight is refused sees a "
                      "network error",
                  "exempt: [{ method: OPTIONS, header.access-control-request-method: \"*\" }]");
  }

  void listeners() {
    if (policy_.api) open_to_all("api", *policy_.api, policy_.api->token);
    if (!policy_.identity.trusted_proxies.empty()) return;
    if (policy_.gateway) nobody_may_connect("gateway", *policy_.gateway);
    if (policy_.api) nobody_may_connect("api", *policy_.api);
    if (policy_.resp) nobody_may_connect("resp", *policy_.resp);
    if (policy_.grpc) nobody_may_connect("grpc", *policy_.grpc);
    if (policy_.admin) nobody_may_connect("admin", *policy_.admin);
  }

  void store() {
    const Entry* entry = root_.find("store");
    if (entry == nullptr || !policy_.store.snapshot || policy_.store.in_memory()) return;
    reader_.doubt(place_of(*entry->value, "snapshot"),
                  "snapshot does nothing: it is for counters in memory, and url names a Redis",
                  "leave it out; Redis keeps its counters itself");
  }

  void admin() {
    if (!policy_.admin || policy_.admin->state.empty()) return;
    const Entry* entry = root_.find("admin");
    const auto folder = std::filesystem::path(policy_.admin->state).parent_path();
    std::error_code ignored;
    if (entry == nullptr || folder.empty() || std::filesystem::exists(folder, ignored)) return;
    reader_.doubt(place_of(*entry->value, "state"),
                  "state is in a folder that does not exist, " + quote(folder.string()) +
                      ": changes made through the admin API will be refused",
                  "make the folder, and let weir's user write there");
  }

  void secrets() {
    for (std::string_view section : {"admin", "api", "resp", "grpc"}) {
      const Entry* entry = root_.find(section);
      if (entry == nullptr) continue;
      for (std::string_view key : {"token", "password"}) {
        const Entry* secret = entry->value->find(key);
        if (secret != nullptr && !secret->value->text.empty()) secret_in_file(*secret);
      }
    }
    const Entry* store = root_.find("store");
    const Entry* url = store == nullptr ? nullptr : store->value->find("url");
    if (url != nullptr && url->value->text.find('@') != std::string::npos) secret_in_file(*url);
  }

 private:
  // REQUIRES: there are no trusted proxies.
  void nobody_may_connect(std::string_view section, const Listener& listener) {
    const Entry* entry = root_.find(section);
    if (!listener.proxy_protocol || entry == nullptr) return;
    reader_.doubt(place_of(*entry->value, "proxy_protocol"),
                  std::string(section) +
                      ".proxy_protocol is true, but trusted_proxies is empty: every connection is "
                      "closed",
                  "list the proxies in front under identity.trusted_proxies");
  }

  void open_to_all(std::string_view section, const Listener& listener, const std::string& token) {
    const Address& listen = listener.listen;
    if (listen.host.empty() || !token.empty() || is_loopback(listen)) return;
    if (listener.checks_clients()) return;
    const Entry* entry = root_.find(section);
    if (entry == nullptr || entry->value->kind != Node::Kind::kMapping) return;
    reader_.doubt(place_of(*entry->value, "listen"),
                  std::string(section) + " listens on " + listen.to_string() +
                      " without a token: whoever reaches it can use it",
                  "set " + std::string(section) + ".token or " + std::string(section) +
                      ".tls.client_ca, or listen on 127.0.0.1");
  }

  void secret_in_file(const Entry& entry) {
    if (entry.value->form == Node::Form::kExpanded) return;
    reader_.doubt(entry.at,
                  entry.key + " holds a secret, and every user of this machine can read the file",
                  "take it from the environment, such as \"${WEIR_TOKEN}\", or chmod o-r the file");
  }

  Reader& reader_;
  const Node& root_;
  const Policy& policy_;
};

}  // namespace

void warn(Reader& reader, const Node& root, const Policy& policy, bool world_readable) {
  Doubts doubts(reader, root, policy);
  warn_of_limits(reader, root, policy);
  doubts.identity();
  doubts.websocket();
  doubts.preflights();
  doubts.listeners();
  warn_of_routes(reader, root, policy);
  doubts.store();
  doubts.admin();
  if (world_readable) doubts.secrets();
}

}  // namespace weir::policy
