#include "app/live/etcd_client.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "app/live/base64.h"
#include "app/live/etcd_exchange.h"
#include "store/redis/stream.h"
#include "wire/http1/writer.h"

namespace weir::app {
namespace {

namespace json = boost::json;

// With one endpoint, which takes its time over a password's hash.
constexpr Duration kPatience = std::chrono::seconds(5);
constexpr int kUnauthorized = 401;

// What etcd says is wrong: {"error":"...","message":"..."}.
std::string message_of(const json::object& answer) {
  for (const char* key : {"message", "error"}) {
    const json::value* text = answer.if_contains(key);
    if (text != nullptr && text->is_string()) return std::string(text->get_string());
  }
  return {};
}

}  // namespace

struct EtcdClient::Asked {
  std::string path;
  json::object body;
  Done done;
  std::size_t tries = 0;
  bool authenticated = false;  // a token was asked for on its behalf
};

EtcdClient::EtcdClient(net::Loop& loop, Options options)
    : loop_(loop), options_(std::move(options)) {}

EtcdClient::~EtcdClient() {
  *alive_ = false;
  if (watch_) watch_->close();
  for (const auto& call : calls_) {
    if (const auto exchange = call.lock()) exchange->close();
  }
}

std::string EtcdClient::request(const std::string& path, const json::object& body) const {
  const std::string text = json::serialize(body);
  std::string out;
  (void)http1::append_request_line(out, "POST", path);
  (void)http1::append_header(out, "Host", endpoint().to_string());
  (void)http1::append_header(out, "Content-Type", "application/json");
  (void)http1::append_header(out, "Connection", "close");
  if (!token_.empty()) (void)http1::append_header(out, "Authorization", token_);
  http1::append_number_header(out, "Content-Length", text.size());
  http1::append_end_of_headers(out);
  return out + text;
}

void EtcdClient::call(std::string path, json::object body, Done done) {
  auto asked = std::make_shared<Asked>();
  asked->path = std::move(path);
  asked->body = std::move(body);
  asked->done = std::move(done);
  if (!options_.user.empty() && token_.empty()) return authenticate(std::move(asked));
  attempt(std::move(asked));
}

void EtcdClient::attempt(std::shared_ptr<Asked> asked) {
  ++asked->tries;
  // WHY shared: the value comes before the end, which tells whether to believe it.
  const auto answer = std::make_shared<json::object>();
  EtcdExchange::Events events;
  events.on_value = [answer](const json::object& value) { *answer = value; };
  events.on_end = [this, alive = alive_, asked, answer](const std::string& error, int status) {
    if (*alive) take(asked, status, error, *answer);
  };
  const auto exchange = std::make_shared<EtcdExchange>(
      loop_, store::redis::make_stream(loop_, endpoint(), options_.tls),
      request(asked->path, asked->body), std::move(events));
  std::erase_if(calls_, [](const auto& call) { return call.expired(); });
  calls_.push_back(exchange);
  exchange->start(kPatience);
}

void EtcdClient::take(const std::shared_ptr<Asked>& asked, int status, const std::string& error,
                      const json::object& answer) {
  const bool old_token = status == kUnauthorized || (status != 200 && !token_.empty());
  if (error.empty() && old_token && !options_.user.empty() && !asked->authenticated) {
    return authenticate(asked);
  }
  if (error.empty() && status == 200) return asked->done(answer);
  if (error.empty() && status < 500) {
    return asked->done(Error{ErrorCode::kInvalid, "etcd refuses: " + message_of(answer)});
  }
  const std::string why =
      endpoint().to_string() + ": " + (error.empty() ? message_of(answer) : error);
  current_ = (current_ + 1) % options_.endpoints.size();
  if (asked->tries < options_.endpoints.size()) return attempt(asked);
  asked->done(Error{ErrorCode::kUnavailable, "etcd does not answer: " + why});
}

void EtcdClient::authenticate(std::shared_ptr<Asked> asked) {
  asked->authenticated = true;
  token_.clear();
  auto login = std::make_shared<Asked>();
  login->path = "/v3/auth/authenticate";
  login->body = {{"name", options_.user}, {"password", options_.password}};
  login->authenticated = true;
  login->done = [this, asked](const Result<json::object>& answer) {
    if (!answer) return asked->done(answer.error());
    const json::value* token = answer->if_contains("token");
    if (token == nullptr || !token->is_string()) {
      return asked->done(Error{ErrorCode::kInvalid, "etcd gives no token"});
    }
    token_ = std::string_view(token->get_string());
    attempt(asked);
  };
  attempt(std::move(login));
}

void EtcdClient::watch(const std::string& key, std::int64_t revision, std::function<void()> changed,
                       std::function<void(const std::string& reason)> ended) {
  std::string end = key;
  end.back() = static_cast<char>(end.back() + 1);  // no key ends in 0xff: it is a path of ASCII
  const json::object body{{"create_request",
                           {{"key", to_base64(key)},
                            {"range_end", to_base64(end)},
                            {"start_revision", std::to_string(revision)}}}};
  EtcdExchange::Events events;
  events.on_value = [this, alive = alive_, changed](const json::object& value) {
    if (!*alive) return;
    const json::value* result = value.if_contains("result");
    const json::object* fields = result == nullptr ? nullptr : result->if_object();
    if (fields == nullptr) return;
    // Canceled: what was asked from has been compacted away, or the token is old. Asking again
    // reads anew.
    const json::value* canceled = fields->if_contains("canceled");
    const bool over = canceled != nullptr && canceled->is_bool() && canceled->get_bool();
    if (over || fields->contains("events")) changed();
  };
  events.on_end = [alive = alive_, ended = std::move(ended)](const std::string& error, int) {
    if (*alive) ended(error.empty() ? "etcd ended the watch" : error);
  };
  if (watch_) watch_->close();
  watch_ = std::make_shared<EtcdExchange>(
      loop_, store::redis::make_stream(loop_, endpoint(), options_.tls), request("/v3/watch", body),
      std::move(events));
  watch_->start(Duration{0});
}

}  // namespace weir::app
