// A gRPC client for tests of the listener: libnghttp2's client side over a RawClient, with every
// step in the test's hand.
//
// Reads wait at most five seconds, so that a listener that never answers fails its test.

#pragma once

#include <nghttp2/nghttp2.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/raw_client.h"

namespace weir::testing {

// A message with its gRPC head.
inline std::string grpc_frame(std::string_view message, char compressed = 0) {
  std::string out(1, compressed);
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(message.size() >> shift));
  }
  return out.append(message);
}

class GrpcClient {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  struct Call {
    std::map<std::string, std::string> headers;  // of the answer, trailers included
    std::string data;
    bool closed = false;
    std::uint32_t error = 0;  // of a RST_STREAM

    std::string status() const {
      const auto found = headers.find("grpc-status");
      return found == headers.end() ? "none" : found->second;
    }
    std::string text() const {
      const auto found = headers.find("grpc-message");
      return found == headers.end() ? "" : found->second;
    }
    // The first message of the answer.
    std::string message() const { return data.size() < 5 ? data : data.substr(5); }
  };

  explicit GrpcClient(std::uint16_t port, std::uint32_t stream_window = 65535) : raw_(port) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_client_new(&http2_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry window{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window};
    nghttp2_submit_settings(http2_, NGHTTP2_FLAG_NONE, &window, 1);
  }
  ~GrpcClient() { nghttp2_session_del(http2_); }
  GrpcClient(const GrpcClient&) = delete;
  GrpcClient& operator=(const GrpcClient&) = delete;

  nghttp2_session* http2() { return http2_; }
  RawClient& raw() { return raw_; }
  bool told_to_go_away() const { return go_aways_ > 0; }
  int go_aways() const { return go_aways_; }
  std::uint32_t go_away_error() const { return go_away_error_; }

  // Begins a call with these bytes as its body; `finish` ends our side. Sends nothing before
  // flush(). Extra fields replace the usual ones of the same name.
  std::int32_t begin(std::string_view path, std::string body, bool finish = true,
                     const Fields& extra = {}) {
    std::multimap<std::string, std::string> fields{{":method", "POST"},
                                                   {":scheme", "http"},
                                                   {":authority", "test"},
                                                   {":path", std::string(path)},
                                                   {"content-type", "application/grpc"},
                                                   {"te", "trailers"}};
    for (const auto& field : extra) fields.erase(field.first);
    for (const auto& field : extra) fields.insert(field);
    std::vector<nghttp2_nv> nva;
    for (const auto& [name, value] : fields) {
      nva.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    auto sending = std::make_unique<Sending>(Sending{std::move(body), finish});
    nghttp2_data_provider provider{};
    provider.source.ptr = sending.get();
    provider.read_callback = read_data;
    const std::int32_t id =
        nghttp2_submit_request(http2_, nullptr, nva.data(), nva.size(), &provider, nullptr);
    sending_[id] = std::move(sending);
    return id;
  }

  // More of a call's body.
  void add(std::int32_t id, std::string_view more, bool finish) {
    sending_[id]->body.append(more);
    sending_[id]->finish = finish;
    nghttp2_session_resume_data(http2_, id);
  }

  bool flush() {
    while (true) {
      const std::uint8_t* data = nullptr;
      const ssize_t n = nghttp2_session_mem_send(http2_, &data);
      if (n <= 0) return n == 0;
      if (!raw_.send({reinterpret_cast<const char*>(data), static_cast<std::size_t>(n)})) {
        return false;
      }
    }
  }

  // One read from the server. False when it has closed, or is silent.
  bool receive() {
    const std::string arrived = raw_.read_some();
    if (arrived.empty()) return false;
    const auto* data = reinterpret_cast<const std::uint8_t*>(arrived.data());
    return nghttp2_session_mem_recv(http2_, data, arrived.size()) >= 0;
  }

  // Sends, and reads until the call is over.
  const Call& finish(std::int32_t id) {
    flush();
    while (!calls_[id].closed && receive()) flush();
    return calls_[id];
  }

  // Sends, and reads until the call has at least so many bytes of data.
  const Call& wait_for_data(std::int32_t id, std::size_t size) {
    flush();
    while (!calls_[id].closed && calls_[id].data.size() < size && receive()) flush();
    return calls_[id];
  }

  const Call& call(std::string_view path, std::string_view message, const Fields& extra = {}) {
    return finish(begin(path, grpc_frame(message), true, extra));
  }

 private:
  struct Sending {
    std::string body;
    bool finish = true;
    std::size_t sent = 0;
  };

  static std::uint8_t* bytes(const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  }
  static GrpcClient& self(void* user) { return *static_cast<GrpcClient*>(user); }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user) {
    self(user)
        .calls_[frame->hd.stream_id]
        .headers[{reinterpret_cast<const char*>(name), name_size}] = {
        reinterpret_cast<const char*>(value), value_size};
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                     std::size_t size, void* user) {
    self(user).calls_[id].data.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
    self(user).calls_[id].closed = true;
    self(user).calls_[id].error = error;
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      ++self(user).go_aways_;
      self(user).go_away_error_ = frame->goaway.error_code;
    }
    return 0;
  }
  static ssize_t read_data(nghttp2_session*, std::int32_t, std::uint8_t* buffer, std::size_t size,
                           std::uint32_t* flags, nghttp2_data_source* source, void*) {
    Sending& sending = *static_cast<Sending*>(source->ptr);
    const std::size_t n = std::min(size, sending.body.size() - sending.sent);
    std::memcpy(buffer, sending.body.data() + sending.sent, n);
    sending.sent += n;
    if (sending.sent == sending.body.size() && sending.finish) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (n == 0 && !sending.finish) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(n);
  }

  RawClient raw_;
  nghttp2_session* http2_ = nullptr;
  std::map<std::int32_t, Call> calls_;
  std::map<std::int32_t, std::unique_ptr<Sending>> sending_;
  int go_aways_ = 0;
  std::uint32_t go_away_error_ = 0;
};

}  // namespace weir::testing
