#include "serve/gateway/local_answer.h"

#include "base/json.h"
#include "wire/http1/date.h"
#include "wire/http1/writer.h"

namespace weir::gateway {

void append_local_answer(std::string& out, const LocalAnswer& answer) {
  http1::append_status_line(out, answer.status);
  http1::append_date_header(out, answer.unix_seconds);
  http1::append_parsed_header(out, "Content-Type", answer.content_type);
  http1::append_number_header(out, "Content-Length", answer.body.size());
  out.append(answer.rate_headers);
  out.append(answer.own_headers);
  if (answer.close) {
    out.append("Connection: close\r\n");
  } else if (answer.keep_alive_1_0) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
  if (!answer.to_head) out.append(answer.body);
}

std::string fault_body(std::string_view code, std::string_view message) {
  std::string body = "{\"code\":";
  append_json_string(body, code);
  body.append(",\"message\":");
  append_json_string(body, message);
  body.push_back('}');
  return body;
}

}  // namespace weir::gateway
