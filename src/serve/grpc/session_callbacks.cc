#include "serve/grpc/session_callbacks.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "serve/grpc/block_pool.h"
#include "serve/grpc/session.h"

namespace weir::grpc {
namespace {

// Calls that clients give up are normal (Envoy does so after 20 ms); a storm of them is not.
constexpr std::uint64_t kResetBurst = 10'000;
constexpr std::uint64_t kResetsPerSecond = 1'000;
constexpr std::size_t kMaxAcks = 1000;

std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

bool is_client_headers(const nghttp2_frame& frame) {
  return frame.hd.type == NGHTTP2_HEADERS;
}

}  // namespace

struct SessionCallbacks {
  static Session& session(void* user_data) { return *static_cast<Session*>(user_data); }

  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    if (is_client_headers(*frame) && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      session(user_data).begin_stream(frame->hd.stream_id);
    }
    return 0;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user_data) {
    Session& self = session(user_data);
    Stream* stream = self.find(frame->hd.stream_id);
    if (stream == nullptr || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    stream->add_header(view(name, name_size), view(value, value_size), self.methods_, self.limits_);
    return 0;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                     std::size_t size, void* user_data) {
    Session& self = session(user_data);
    Stream* stream = self.find(id);
    if (stream != nullptr) self.on_data(*stream, view(data, size));
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    Session& self = session(user_data);
    if (!self.greeted_) self.on_greeting();
    const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA: {
        if (Stream* stream = self.find(frame->hd.stream_id)) {
          if (is_client_headers(*frame) && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
            self.on_headers(*stream);
          }
          if (last) self.on_request_end(*stream);
        }
        if (frame->hd.type == NGHTTP2_HEADERS || last || frame->hd.length > 0) return 0;
        break;
      }
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) self.on_ping_ack();
        break;
      case NGHTTP2_WINDOW_UPDATE:
      case NGHTTP2_RST_STREAM:  // counted by nghttp2
        return 0;
      default:
        break;
    }
    return self.spend_idle_frame() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int on_frame_sent(nghttp2_session* http2, const nghttp2_frame* frame, void* user_data) {
    // The answer is complete before the request is: the rest of it is not wanted.
    const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type != NGHTTP2_HEADERS || !last) return 0;
    const Stream* stream = session(user_data).find(frame->hd.stream_id);
    if (stream != nullptr && !stream->request_done) {
      nghttp2_submit_rst_stream(http2, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    }
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* user_data) {
    Session& self = session(user_data);
    if (Stream* stream = self.find(id)) self.close_stream(*stream);
    return 0;
  }

  static ssize_t read_data(nghttp2_session*, std::int32_t id, std::uint8_t* buffer,
                           std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                           void* user_data) {
    Session& self = session(user_data);
    Stream* stream = self.find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::size_t n = std::min(size, stream->out.size() - stream->sent);
    std::memcpy(buffer, stream->out.data() + stream->sent, n);
    stream->sent += n;
    self.unsent_ -= n;
    if (stream->sent == stream->out.size()) {
      stream->out.clear();
      stream->sent = 0;
      if (stream->ended) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        self.submit_trailers(*stream);
      } else if (n == 0) {
        return NGHTTP2_ERR_DEFERRED;
      }
    }
    return static_cast<ssize_t>(n);
  }
};

namespace {

nghttp2_session_callbacks* make_callbacks() {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) return nullptr;
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks,
                                                          SessionCallbacks::on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, SessionCallbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, SessionCallbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, SessionCallbacks::on_frame);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, SessionCallbacks::on_frame_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, SessionCallbacks::on_close);
  return callbacks;
}

nghttp2_option* make_option() {
  nghttp2_option* option = nullptr;
  if (nghttp2_option_new(&option) != 0) return nullptr;
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_max_outbound_ack(option, kMaxAcks);
  nghttp2_option_set_stream_reset_rate_limit(option, kResetBurst, kResetsPerSecond);
  return option;
}

}  // namespace

nghttp2_session* make_http2(Session& session, std::uint32_t max_calls,
                            std::uint32_t max_header_bytes) {
  static nghttp2_session_callbacks* const callbacks = make_callbacks();
  static nghttp2_option* const option = make_option();
  nghttp2_session* http2 = nullptr;
  if (callbacks == nullptr || option == nullptr) return nullptr;
  if (nghttp2_session_server_new3(&http2, callbacks, &session, option, block_pool()) != 0)
    return nullptr;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, max_calls},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, max_header_bytes},
  };
  nghttp2_submit_settings(http2, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  return http2;
}

nghttp2_data_provider data_of_stream() {
  nghttp2_data_provider provider{};
  provider.read_callback = SessionCallbacks::read_data;
  return provider;
}

}  // namespace weir::grpc
