#include "serve/gateway/forwarded_head.h"

#include "base/letters.h"
#include "engine/answer.h"
#include "serve/gateway/request_id.h"
#include "wire/http1/writer.h"
#include "wire/websocket/handshake.h"

namespace weir::gateway {
namespace {

using http1::Header;
using http1::HeaderId;
using http1::Headers;

constexpr std::string_view kViaLine = "Via: 1.1 weir\r\n";

bool starts_with_ignore_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equals_ignore_case(text.substr(0, prefix.size()), prefix);
}

// Fields that say where a request came from.
bool is_forwarding_field(std::string_view name) {
  const char first = to_lower(name[0]);
  if (first == 'f') return equals_ignore_case(name, "forwarded");
  if (first != 'x' || name.size() < 9) return false;
  return equals_ignore_case(name, "x-real-ip") || starts_with_ignore_case(name, "x-forwarded-");
}

// Those of them that the gateway writes itself, whoever sent them.
bool is_rewritten_field(std::string_view name) {
  return equals_ignore_case(name, "x-forwarded-for") ||
         equals_ignore_case(name, "x-forwarded-proto") ||
         equals_ignore_case(name, "x-forwarded-host");
}

// Copies the fields for which `keeps` holds, run by run.
template <typename Keeps>
void append_kept(std::string& out, const Headers& headers, const char* end, Keeps keeps) {
  const char* run = nullptr;
  for (const Header header : headers) {
    const bool kept = keeps(header);
    if (kept && run == nullptr) run = header.name.data();
    if (!kept && run != nullptr) {
      out.append(run, header.name.data());
      run = nullptr;
    }
  }
  if (run != nullptr) out.append(run, end - 2);  // without the empty line
}

// Whether a Connection field names this one as its own connection's matter. Framing, routing and
// state are never a client's to take out: only fields without an id of their own.
bool is_listed(const Headers& headers, const Header& header) {
  return header.id == HeaderId::kOther && headers.has(HeaderId::kConnection) &&
         headers.lists(HeaderId::kConnection, header.name);
}

bool keeps_request_field(const Headers& headers, const Header& header, bool chunked,
                         const RequestContext& context) {
  if (header.id == HeaderId::kOther) {
    if (is_forwarding_field(header.name)) {
      return context.peer_trusted && !is_rewritten_field(header.name);
    }
    if (!context.request_id.empty() && equals_ignore_case(header.name, kRequestIdHeader)) {
      return false;
    }
    if (context.plain_frames && equals_ignore_case(header.name, websocket::kExtensionsHeader)) {
      return false;
    }
    return !is_listed(headers, header);
  }
  if (header.id == HeaderId::kHost) return false;
  if (header.id == HeaderId::kTrailer) return chunked;  // its trailers are passed on
  return !http1::is_hop_by_hop(header.id);
}

void append_all(std::string& out, const Headers& headers, std::string_view name) {
  for (const Header header : headers) {
    if (!equals_ignore_case(header.name, name)) continue;
    out.append(header.value);
    out.append(", ");
  }
}

void append_origin(std::string& out, const http1::RequestHead& head,
                   const RequestContext& context) {
  out.append("X-Forwarded-For: ");
  if (context.peer_trusted) append_all(out, head.headers, "x-forwarded-for");
  out.append(context.peer);
  http1::Found proto;
  http1::Found host;
  if (context.peer_trusted) {
    proto = head.headers.find("x-forwarded-proto");
    host = head.headers.find("x-forwarded-host");
  }
  if (!context.request_id.empty()) {
    out.append("\r\nX-Request-Id: ");
    out.append(context.request_id);
  }
  out.append("\r\nX-Forwarded-Proto: ");
  out.append(proto ? proto.value : context.tls ? "https" : "http");
  const std::string_view named = host ? host.value : head.host;
  if (!named.empty()) {
    out.append("\r\nX-Forwarded-Host: ");
    out.append(named);
  }
  out.append("\r\n");
}

void append_upgrade(std::string& out, const Headers& headers) {
  for (const Header header : headers) {
    if (header.id != HeaderId::kUpgrade) continue;
    http1::append_parsed_header(out, "Upgrade", header.value);
  }
}

void append_request_connection(std::string& out, const http1::RequestHead& head, bool upgrade) {
  const bool trailers = head.headers.lists(HeaderId::kTe, "trailers");
  if (trailers) out.append("TE: trailers\r\n");
  if (upgrade) append_upgrade(out, head.headers);
  if (trailers && upgrade) {
    out.append("Connection: TE, upgrade\r\n");
  } else if (trailers) {
    out.append("Connection: TE\r\n");
  } else if (upgrade) {
    out.append("Connection: upgrade\r\n");
  }
}

// RFC 9110 section 8.6: such a response has no body, and a length would let a client wait for one.
bool may_have_length(int status) {
  return status >= 200 && status != 204;
}

bool keeps_response_field(const Headers& headers, const Header& header, int status,
                          const ResponseContext& context) {
  if (header.id == HeaderId::kOther) {
    if (!context.rate_headers.empty() && engine::is_rate_limit_header(header.name)) return false;
    return !is_listed(headers, header);
  }
  if (header.id == HeaderId::kTrailer) return context.chunked;
  if (header.id == HeaderId::kContentLength) return may_have_length(status);
  return !http1::is_hop_by_hop(header.id);
}

}  // namespace

void append_request_head(std::string& out, const http1::RequestHead& head, const char* end,
                         const RequestContext& context) {
  out.append(head.method);
  out.push_back(' ');
  out.append(context.path);
  if (head.has_query) {
    out.push_back('?');
    out.append(head.query);
  }
  out.append(" HTTP/1.1\r\nHost: ");
  out.append(head.host.empty() ? context.upstream : head.host);
  out.append("\r\n");
  const bool chunked = head.body.kind == http1::Body::Kind::kChunked;
  append_kept(out, head.headers, end, [&](const Header& header) {
    if (header.id == HeaderId::kExpect) return head.expect_continue;
    return keeps_request_field(head.headers, header, chunked, context);
  });
  append_origin(out, head, context);
  if (head.minor_version == 0) {
    out.append("Via: 1.0 weir\r\n");
  } else {
    out.append(kViaLine);
  }
  if (chunked) out.append("Transfer-Encoding: chunked\r\n");
  append_request_connection(out, head, context.upgrade);
  out.append("\r\n");
}

void append_response_head(std::string& out, const http1::ResponseHead& head, const char* end,
                          const ResponseContext& context) {
  http1::append_status_line(out, head.status, head.reason);
  append_kept(out, head.headers, end, [&](const Header& header) {
    return keeps_response_field(head.headers, header, head.status, context);
  });
  out.append(kViaLine);
  out.append(context.rate_headers);
  if (context.chunked) out.append("Transfer-Encoding: chunked\r\n");
  // 426 must say which protocol it wants, 101 which one it is.
  const bool upgrade =
      (head.status == 101 || head.status == 426) && head.headers.has(HeaderId::kUpgrade);
  if (upgrade) append_upgrade(out, head.headers);
  if (upgrade && context.close) {
    out.append("Connection: upgrade, close\r\n");
  } else if (upgrade) {
    out.append("Connection: upgrade\r\n");
  } else if (context.close) {
    out.append("Connection: close\r\n");
  } else if (context.keep_alive_1_0) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
}

}  // namespace weir::gateway
