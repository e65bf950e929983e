#include "tools/admin_client.h"

#include <netdb.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <memory>

#include "base/json.h"
#include "net/file_descriptor.h"
#include "wire/http1/response.h"

namespace weir::tools {
namespace {

using net::FileDescriptor;

Error unreachable(const AdminClient& client, std::string_view why) {
  return Error{ErrorCode::kUnavailable, "no answer from " + client.address() + ": " +
                                            std::string(why) +
                                            "; is it the policy's admin.listen? (--url)"};
}

Result<FileDescriptor> connect_to(const AdminClient& client, const std::string& host,
                                  const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); failed != 0) {
    return unreachable(client, gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  const timeval timeout{AdminClient::kTimeout.count(), 0};
  int why = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    FileDescriptor fd(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
    why = errno;
  }
  return unreachable(client, strerror(why));
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Everything until the end; false where it did not come in time or is too much.
bool receive_all(int fd, std::string& into) {
  char buffer[16384];
  while (into.size() <= AdminClient::kMaxAnswer) {
    const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
    if (got == 0) return true;
    if (got < 0) return false;
    into.append(buffer, static_cast<std::size_t>(got));
  }
  return false;
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

Result<AdminClient> AdminClient::make(std::string_view url, std::string token) {
  constexpr std::string_view kScheme = "http://";
  std::string_view rest = url;
  if (rest.starts_with(kScheme)) rest.remove_prefix(kScheme.size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const auto colon = rest.rfind(':');
  std::string_view host = rest.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool right = colon != std::string_view::npos && !host.empty() && colon + 1 < rest.size() &&
                     rest.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (!right) {
    return Error{ErrorCode::kInvalid,
                 "--url is '" + std::string(url) + "', wants http://HOST:PORT"};
  }
  AdminClient client;
  client.host_ = host;
  client.port_ = rest.substr(colon + 1);
  client.token_ = std::move(token);
  return client;
}

std::string AdminClient::address() const {
  const bool v6 = host_.find(':') != std::string::npos;
  return (v6 ? "[" + host_ + "]" : host_) + ":" + port_;
}

Result<AdminAnswer> AdminClient::ask(std::string_view method, std::string_view target,
                                     std::string_view body) const {
  const auto connected = connect_to(*this, host_, port_);
  if (!connected) return connected.error();
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
  std::string bytes;
  if (!send_all(connected->get(), request) || !receive_all(connected->get(), bytes)) {
    return unreachable(*this, "it did not answer in time");
  }
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
