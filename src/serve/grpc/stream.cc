#include "serve/grpc/stream.h"

#include "serve/http/token.h"

namespace weir::grpc {
namespace {

constexpr std::size_t kKeptBytes = 4096;  // of a buffer, from one call to the next

void clear_text(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptBytes) text.shrink_to_fit();
}

const Method* find_method(const Methods& methods, std::string_view path) {
  for (const Method& method : methods) {
    if (method.path == path) return &method;
  }
  return nullptr;
}

bool is_grpc_type(std::string_view type) {
  constexpr std::string_view kType = "application/grpc";
  if (!type.starts_with(kType)) return false;
  type.remove_prefix(kType.size());
  return type.empty() || type == "+proto" || type.starts_with(';');
}

Stream::Fault fault(Status status, std::string text) {
  return {200, status, std::move(text)};
}

}  // namespace

void Stream::clear() {
  id = 0;
  began_ns = message_began_ns = 0;
  method = nullptr;
  timeout.reset();
  clear_text(in);
  clear_text(out);
  sent = 0;
  request_done = handled = answering = ended = false;
  outcome = {};
  is_post_ = is_grpc_ = timeout_bad_ = encoded_ = false;
  authorizations_ = 0;
  clear_text(authorization_);
  header_bytes_ = 0;
}

void Stream::add_header(std::string_view name, std::string_view value, const Methods& methods,
                        const StreamLimits& limits) {
  header_bytes_ += name.size() + value.size();
  max_header_bytes_ = limits.max_header_bytes;
  if (name == ":path") {
    method = find_method(methods, value);
  } else if (name == ":method") {
    is_post_ = value == "POST";
  } else if (name == "content-type") {
    is_grpc_ = is_grpc_type(value);
  } else if (name == "grpc-timeout") {
    timeout = parse_timeout(value);
    timeout_bad_ = !timeout;
  } else if (name == "grpc-encoding") {
    encoded_ = value != "identity";
  } else if (name == "authorization") {
    ++authorizations_;
    authorization_ = value;
  }
}

std::optional<Stream::Fault> Stream::check_headers(std::string_view token) {
  const bool open = token.empty() || (method != nullptr && method->open);
  const bool shown = authorizations_ == 1 && http::is_bearer_token(authorization_, token);
  clear_text(authorization_);
  if (!is_post_) return Fault{405, Status::kInternal, "only POST is answered here"};
  if (!is_grpc_) {
    return Fault{415, Status::kInternal, "the content-type must be application/grpc"};
  }
  if (header_bytes_ > max_header_bytes_) {
    return fault(Status::kResourceExhausted,
                 "the headers are larger than " + std::to_string(max_header_bytes_) + " bytes");
  }
  if (!open && !shown) {
    return fault(Status::kUnauthenticated, "show the token: authorization: Bearer TOKEN");
  }
  if (method == nullptr) return fault(Status::kUnimplemented, "there is no such method here");
  if (timeout_bad_) {
    return fault(Status::kInvalidArgument,
                 "grpc-timeout must be 1 to 8 digits and H, M, S, m, u "
                 "or n");
  }
  return std::nullopt;
}

std::optional<Stream::Fault> Stream::add_data(std::string_view data, const StreamLimits& limits) {
  in.append(data);
  if (in.size() < kMessageHead) return std::nullopt;
  const MessageHead head = read_message_head(in);
  if (head.compressed) {
    return encoded_ ? fault(Status::kUnimplemented,
                            "messages may not be compressed: send them with grpc-encoding identity")
                    : fault(Status::kInternal,
                            "a message says that it is compressed, and grpc-encoding does not");
  }
  if (head.size > limits.max_message) {
    return fault(Status::kResourceExhausted, "the message has " + std::to_string(head.size) +
                                                 " bytes, more than " +
                                                 std::to_string(limits.max_message));
  }
  if (!is_stream() && in.size() > kMessageHead + head.size) {
    return fault(Status::kUnimplemented, "the method takes one message, and more came");
  }
  return std::nullopt;
}

std::optional<std::string_view> Stream::message() const {
  if (in.size() < kMessageHead) return std::nullopt;
  const MessageHead head = read_message_head(in);
  if (in.size() - kMessageHead < head.size) return std::nullopt;
  return std::string_view(in).substr(kMessageHead, head.size);
}

void Stream::pop_message() {
  in.erase(0, kMessageHead + read_message_head(in).size);
}

std::optional<Stream::Fault> Stream::finish_request() {
  request_done = true;
  if (is_stream() ? !in.empty() : !message()) {
    return fault(Status::kInternal, in.empty() ? "the call ended without a message"
                                               : "the call ended within a message");
  }
  return std::nullopt;
}

}  // namespace weir::grpc
