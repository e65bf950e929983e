#include "serve/http/problem.h"

#include "base/json.h"
#include "wire/http1/writer.h"

namespace weir::http {

void set_problem(Response& response, int status, std::string_view detail, std::string_view field) {
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = "{\"title\":";
  append_json_string(response.body, http1::reason_phrase(status));
  response.body += ",\"status\":" + std::to_string(status) + ",\"detail\":";
  append_json_string(response.body, detail);
  if (!field.empty()) {
    response.body += ",\"field\":";
    append_json_string(response.body, field);
  }
  response.body += "}\n";
}

}  // namespace weir::http
