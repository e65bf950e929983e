#include "serve/grpc/answer.h"

#include <nghttp2/nghttp2.h>

#include <array>
#include <iterator>

#include "serve/grpc/session_callbacks.h"

namespace weir::grpc {
namespace {

constexpr std::uint8_t kBothStatic = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;

nghttp2_nv field(std::string_view name, std::string_view value, std::uint8_t flags) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), flags};
}

std::string_view code_text(Status status) {
  constexpr std::array<std::string_view, 17> kCodes{
      "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"};
  return kCodes[static_cast<std::size_t>(status)];
}

constexpr std::string_view kType = "application/grpc";

}  // namespace

bool submit_answer(nghttp2_session* http2, const Stream& stream) {
  const nghttp2_nv fields[] = {
      field(":status", "200", kBothStatic),
      field("content-type", kType, kBothStatic),
  };
  const nghttp2_data_provider data = data_of_stream();
  return nghttp2_submit_response(http2, stream.id, fields, std::size(fields), &data) == 0;
}

bool submit_answer_without_message(nghttp2_session* http2, const Stream& stream) {
  const std::string http_status = std::to_string(stream.outcome.http_status);
  const std::string text = encode_status_message(stream.outcome.text);
  const bool not_grpc = stream.outcome.http_status != 200;
  const nghttp2_nv fields[] = {
      field(":status", http_status, NGHTTP2_NV_FLAG_NO_COPY_NAME),
      field("content-type", kType, kBothStatic),
      field("grpc-status", code_text(stream.outcome.status), kBothStatic),
      field("grpc-message", text, NGHTTP2_NV_FLAG_NO_COPY_NAME),
      field("grpc-accept-encoding", "identity", kBothStatic),
      field("allow", "POST", kBothStatic),
  };
  const std::size_t count = std::size(fields) - (not_grpc ? 0 : 1);
  return nghttp2_submit_response(http2, stream.id, fields, count, nullptr) == 0;
}

bool submit_trailers_of(nghttp2_session* http2, const Stream& stream) {
  const std::string text = encode_status_message(stream.outcome.text);
  const nghttp2_nv fields[] = {
      field("grpc-status", code_text(stream.outcome.status), kBothStatic),
      field("grpc-message", text, NGHTTP2_NV_FLAG_NO_COPY_NAME),
  };
  const std::size_t count = text.empty() ? 1 : 2;
  return nghttp2_submit_trailer(http2, stream.id, fields, count) == 0;
}

}  // namespace weir::grpc
