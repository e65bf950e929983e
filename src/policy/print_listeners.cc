#include "policy/print_listeners.h"

#include <string_view>
#include <utility>
#include <vector>

#include "policy/format.h"
#include "policy/print_parts.h"

namespace weir::policy {
namespace {

class Printer {
 public:
  explicit Printer(PrintOptions options) : options_(options) {}

  std::string print(const Policy& policy) {
    if (policy.gateway) gateway(*policy.gateway);
    if (policy.api) api(*policy.api);
    if (policy.resp) resp(*policy.resp);
    if (policy.grpc) grpc(*policy.grpc);
    if (policy.admin) admin(*policy.admin);
    return std::move(out_);
  }

 private:
  void api(const Api& value) {
    section("api", value);
    secret("token", value.token);
    line("  ", "adhoc", print_bool(value.adhoc));
    line("  ", "id_lifetime", format_duration(value.id_lifetime));
  }

  void resp(const Resp& value) {
    section("resp", value);
    secret("password", value.password);
  }

  void grpc(const Grpc& value) {
    section("grpc", value);
    secret("token", value.token);
    line("  ", "atomic", print_bool(value.atomic));
    out_ += value.attributes.empty() ? "  attributes: {}\n" : "  attributes:\n";
    for (const auto& [name, attribute] : value.attributes) {
      line("    ", key_text(name), text(to_string(attribute)));
    }
  }

  void admin(const Admin& value) {
    section("admin", value);
    secret("token", value.token);
    if (!value.state.empty()) line("  ", "state", text(value.state));
  }

  void gateway(const Gateway& value) {
    section("gateway", value);
    if (!value.upstream.servers.empty()) line("  ", "upstream", print_upstream(value.upstream));
    if (!value.routes.empty()) out_ += "  routes:\n";
    for (const Route& route : value.routes) out_ += "    - " + print_route(route) + "\n";
    upstream_tls(value.upstream_tls);
    line("  ", "max_header_bytes", std::to_string(value.max_header_bytes));
    line("  ", "max_headers", std::to_string(value.max_headers));
    if (value.access_log) access_log(*value.access_log);
    out_ += "  timeouts:\n";
    const GatewayTimeouts& t = value.timeouts;
    const std::pair<std::string_view, Duration> rows[] = {
        {"header", t.header},   {"idle", t.idle},         {"body", t.body},
        {"connect", t.connect}, {"response", t.response}, {"drain", t.drain}};
    for (const auto& [name, duration] : rows) line("    ", name, format_duration(duration));
  }

  void access_log(const AccessLog& value) {
    line("  ", "access_log",
         "{ file: " + text(value.file) +
             ", format: " + (value.format == AccessFormat::kJson ? "json" : "combined") +
             ", query: " + std::string(print_bool(value.query)) + " }");
  }

  void upstream_tls(const ClientTls& value) {
    std::string all;
    const std::pair<std::string_view, const std::string&> rows[] = {
        {"ca", value.ca},
        {"cert", value.cert},
        {"key", value.key},
        {"server_name", value.server_name}};
    for (const auto& [name, file] : rows) {
      if (file.empty()) continue;
      all.append(all.empty() ? "{ " : ", ").append(name).append(": ").append(text(file));
    }
    if (!all.empty()) line("  ", "upstream_tls", all + " }");
  }

  // What every listener has.
  void common(const Listener& value) {
    line("  ", "listen", text(value.listen.to_string()));
    if (value.tls) tls(*value.tls);
    line("  ", "proxy_protocol", print_bool(value.proxy_protocol));
    const std::pair<std::string_view, std::uint32_t> bounds[] = {
        {"max_connections", value.max_connections},
        {"max_connections_per_client", value.max_connections_per_client}};
    for (const auto& [name, bound] : bounds) {
      if (bound != 0) line("  ", name, std::to_string(bound));
    }
  }

  void tls(const Tls& value) {
    const auto pair = [](const Certificate& one) {
      return "cert: " + text(one.cert) + ", key: " + text(one.key);
    };
    std::string all = "{ " + pair(value.certificates[0]);
    if (!value.client_ca.empty()) all += ", client_ca: " + text(value.client_ca);
    const std::vector<Certificate> further(value.certificates.begin() + 1,
                                           value.certificates.end());
    if (!further.empty()) {
      all += ", certificates: " +
             list(further, [&](const Certificate& one) { return "{ " + pair(one) + " }"; });
    }
    line("  ", "tls", all + " }");
  }

  void section(std::string_view name, const Listener& value) {
    out_.append(name).append(":\n");
    common(value);
  }

  void secret(std::string_view name, const std::string& value) {
    line("  ", name, value.empty() || options_.show_secrets ? text(value) : "\"***\"");
  }

  void line(std::string_view indent, std::string_view key, std::string_view value) {
    out_.append(indent).append(key).append(": ").append(value).append("\n");
  }

  PrintOptions options_;
  std::string out_;
};

}  // namespace

std::string print_listeners(const Policy& policy, PrintOptions options) {
  return Printer(options).print(policy);
}

}  // namespace weir::policy
