#include "tools/admin_client.h"

#include <pwd.h>
#include <unistd.h>

#include <utility>

#include "base/json.h"
#include "tools/admin_connection.h"
#include "wire/http1/response.h"

namespace weir::tools {
namespace {

Error unreachable(const AdminClient& client, std::string_view why) {
  return Error{ErrorCode::kUnavailable, "no answer from " + client.address() + ": " +
                                            std::string(why) +
                                            "; is it the policy's admin.listen? (" +
                                            (client.secure() ? "--url, --ca)" : "--url)")};
}

// Who calls, for weir's log: "alice@host".
std::string actor() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const passwd* user = ::getpwuid(::getuid());
  std::string name = user == nullptr ? std::to_string(::getuid()) : std::string(user->pw_name);
  name = name + '@' + host;
  for (char& c : name) c = c > 0x20 && c < 0x7f ? c : '?';
  return name;
}

// What an error answer says, or its status.
std::string words_of(const AdminAnswer& answer) {
  const auto parsed = parse_json(answer.body.substr(0, answer.body.find_last_of('}') + 1));
  if (parsed && parsed->is_object()) {
    const auto* detail = parsed->as_object().if_contains("detail");
    if (detail != nullptr && detail->is_string()) return std::string(detail->as_string());
  }
  return "it answered " + std::to_string(answer.status);
}

}  // namespace

Result<AdminClient> AdminClient::make(std::string_view url, std::string token,
                                      const net::TlsClientFiles& files) {
  constexpr std::string_view kPlain = "http://";
  constexpr std::string_view kSecure = "https://";
  std::string_view rest = url;
  const bool secure = rest.starts_with(kSecure);
  if (secure || rest.starts_with(kPlain)) rest.remove_prefix((secure ? kSecure : kPlain).size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const auto colon = rest.rfind(':');
  std::string_view host = rest.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool right = colon != std::string_view::npos && !host.empty() && colon + 1 < rest.size() &&
                     rest.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (!right) {
    return Error{ErrorCode::kInvalid, "--url is '" + std::string(url) +
                                          "', wants http://HOST:PORT or https://HOST:PORT"};
  }
  AdminClient client;
  client.host_ = host;
  client.port_ = rest.substr(colon + 1);
  client.token_ = std::move(token);
  if (!secure && files != net::TlsClientFiles{}) {
    return Error{
        ErrorCode::kInvalid,
        "--ca, --client-cert and --client-key are for https: --url is '" + std::string(url) + "'"};
  }
  if (!secure) return client;
  if (files.cert.empty() != files.key.empty()) {
    return Error{ErrorCode::kInvalid, "--client-cert and --client-key go together; give both"};
  }
  auto tls = net::TlsClient::make(files, "http/1.1");
  if (!tls) return tls.error();
  client.tls_ = *std::move(tls);
  return client;
}

std::string AdminClient::address() const {
  const bool v6 = host_.find(':') != std::string::npos;
  return (v6 ? "[" + host_ + "]" : host_) + ":" + port_;
}

Result<AdminAnswer> AdminClient::ask(std::string_view method, std::string_view target,
                                     std::string_view body) const {
  AdminConnection::Options options{host_, port_, tls_, kTimeout};
  auto connection = AdminConnection::open(options);
  if (!connection) return unreachable(*this, connection.error().message);
  std::string request = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\n";
  request += "Host: " + address() + "\r\nConnection: close\r\n";
  if (!token_.empty()) request += "Authorization: Bearer " + token_ + "\r\n";
  request += "X-Weir-Actor: " + actor() + "\r\n";
  if (!body.empty()) {
    request +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  request += "\r\n";
  request += body;
  if (auto sent = connection->send(request); !sent) {
    return unreachable(*this, sent.error().message);
  }
  auto received = connection->receive_all(kMaxAnswer);
  if (!received) return unreachable(*this, received.error().message);
  const std::string& bytes = *received;
  http1::ResponseParser parser;
  if (parser.parse(bytes) != http1::Progress::kComplete) {
    return unreachable(*this, "what answers there does not speak HTTP");
  }
  return AdminAnswer{parser.head().status, bytes.substr(parser.consumed())};
}

Result<std::string> AdminClient::get(std::string_view target) const {
  auto answer = ask("GET", target);
  if (!answer) return answer.error();
  if (answer->status == 200) return std::move(answer->body);
  const std::string hint = answer->status == 401 ? " (--token, or WEIR_ADMIN_TOKEN)" : "";
  return Error{ErrorCode::kUnavailable, address() + ": " + words_of(*answer) + hint};
}

}  // namespace weir::tools
