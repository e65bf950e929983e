// The policy and the overlay in etcd: the policy under its key, each change under a key of its own
// below "<key>.changes/".

#include <boost/json/array.hpp>
#include <charconv>
#include <utility>

#include "app/live/base64.h"
#include "app/live/etcd_client.h"
#include "app/live/remote_store.h"
#include "base/log.h"

namespace weir::app {
namespace {

namespace json = boost::json;

constexpr Duration kRetryAfter = std::chrono::milliseconds(250);
constexpr Duration kReadAlways =
    std::chrono::seconds(10);  // a watch whose peer is gone says nothing

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// etcd's gateway writes 64-bit numbers as texts.
std::int64_t revision_of(const json::object& answer) {
  const json::value* header = answer.if_contains("header");
  const json::object* fields = header == nullptr ? nullptr : header->if_object();
  const std::string text = fields == nullptr ? "" : text_of(*fields, "revision");
  std::int64_t revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

EtcdClient::Options options_of(const RemotePlace& place) {
  return {place.url.addresses, place.url.username, place.url.password, place.tls};
}

// Watches a key and those below it, for ever, and runs `changed` whenever something may be new.
class EtcdWatch {
 public:
  EtcdWatch(net::Loop& loop, EtcdClient& client, std::string key, std::function<void()> changed)
      : client_(client),
        key_(std::move(key)),
        changed_(std::move(changed)),
        retry_(loop.executor()),
        always_(loop.executor()) {
    begin();
    read_always();
  }
  ~EtcdWatch() { *alive_ = false; }

 private:
  // Asks where etcd stands, so that nothing between that and the watch is missed.
  void begin() {
    client_.call("/v3/kv/range", {{"key", to_base64(key_)}, {"count_only", true}},
                 [this, alive = alive_](const Result<json::object>& answer) {
                   if (!*alive) return;
                   if (!answer) return again(answer.error().message);
                   if (!trouble_.empty()) log::info("policy: etcd answers again");
                   trouble_.clear();
                   changed_();
                   watch(revision_of(*answer) + 1);
                 });
  }

  void watch(std::int64_t revision) {
    client_.watch(key_, revision, changed_, [this](const std::string& reason) { again(reason); });
  }

  void again(const std::string& reason) {
    if (trouble_.empty()) log::warning("policy: the watch of etcd ended: " + reason);
    trouble_ = reason;
    retry_.expires_after(kRetryAfter);
    retry_.async_wait([this, alive = alive_](const net::SystemError& error) {
      if (*alive && !error) begin();
    });
  }

  void read_always() {
    always_.expires_after(kReadAlways);
    always_.async_wait([this, alive = alive_](const net::SystemError& error) {
      if (!*alive || error) return;
      if (trouble_.empty()) changed_();
      read_always();
    });
  }

  EtcdClient& client_;
  const std::string key_;
  const std::function<void()> changed_;
  net::SteadyTimer retry_;
  net::SteadyTimer always_;
  std::string trouble_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class EtcdSource final : public PolicySource {
 public:
  EtcdSource(net::Loop& loop, const RemotePlace& place)
      : loop_(loop), place_(place), client_(loop, options_of(place)) {}

  const std::string& name() const override { return place_.shown; }
  bool is_remote() const override { return true; }
  std::unique_ptr<OverlayKeeper> overlay() override { return overlay_in_etcd(loop_, place_); }

  void read(Read done) override {
    client_.call("/v3/kv/range", {{"key", to_base64(place_.key)}},
                 [this, done = std::move(done)](const Result<json::object>& answer) {
                   done(answer ? text_in(*answer) : Result<policy::PolicyText>(answer.error()));
                 });
  }

  void watch(std::function<void()> changed) override {
    watch_ = std::make_unique<EtcdWatch>(loop_, client_, place_.key, std::move(changed));
  }

 private:
  Result<policy::PolicyText> text_in(const json::object& answer) const {
    const json::value* found = answer.if_contains("kvs");
    if (found == nullptr || !found->is_array() || found->get_array().empty()) {
      return Error{ErrorCode::kNotFound, "etcd has no key " + place_.key};
    }
    const json::object* pair = found->get_array()[0].if_object();
    auto text = from_base64(pair == nullptr ? "?" : text_of(*pair, "value"));
    if (!text) return Error{ErrorCode::kInvalid, "etcd's answer holds no base64"};
    return policy::PolicyText{place_.shown, std::move(*text), place_.format, false};
  }

  net::Loop& loop_;
  const RemotePlace place_;
  EtcdClient client_;
  std::unique_ptr<EtcdWatch> watch_;
};

class EtcdOverlay final : public OverlayKeeper {
 public:
  EtcdOverlay(net::Loop& loop, const RemotePlace& place)
      : loop_(loop), prefix_(place.key + ".changes/"), client_(loop, options_of(place)) {}

  bool persistent() const override { return true; }

  void load(Loaded done) override {
    std::string end = prefix_;
    end.back() = '0';  // what follows '/'
    client_.call("/v3/kv/range", {{"key", to_base64(prefix_)}, {"range_end", to_base64(end)}},
                 [this, done = std::move(done)](const Result<json::object>& answer) {
                   done(answer ? entries_in(*answer) : Result<overlay::Entries>(answer.error()));
                 });
  }

  void put(const overlay::Name& name, const overlay::Entry& entry, Stored done) override {
    store("/v3/kv/put",
          {{"key", to_base64(prefix_ + overlay::to_text(name))},
           {"value", to_base64(overlay::to_text(entry))}},
          std::move(done));
  }

  void erase(const overlay::Name& name, Stored done) override {
    store("/v3/kv/deleterange", {{"key", to_base64(prefix_ + overlay::to_text(name))}},
          std::move(done));
  }

  void watch(std::function<void(overlay::Entries)> changed) override {
    watch_ = std::make_unique<EtcdWatch>(loop_, client_, prefix_, [this, changed] {
      load([changed](Result<overlay::Entries> entries) {
        if (entries) changed(std::move(*entries));
      });
    });
  }

 private:
  void store(std::string path, json::object body, Stored done) {
    client_.call(std::move(path), std::move(body),
                 [done = std::move(done)](const Result<json::object>& answer) {
                   done(answer ? Result<bool>(true) : Result<bool>(answer.error()));
                 });
  }

  Result<overlay::Entries> entries_in(const json::object& answer) const {
    overlay::Entries entries;
    const json::value* found = answer.if_contains("kvs");
    if (found == nullptr || !found->is_array()) return entries;
    for (const json::value& pair : found->get_array()) {
      const json::object* fields = pair.if_object();
      if (fields == nullptr) continue;
      const auto key = from_base64(text_of(*fields, "key"));
      const auto value = from_base64(text_of(*fields, "value"));
      if (!key || !value || !key->starts_with(prefix_)) continue;
      const auto name = overlay::name_of(std::string_view(*key).substr(prefix_.size()));
      const auto entry = overlay::entry_of(*value);
      if (name && entry && entries.size() < overlay::kMax) entries.emplace(*name, *entry);
    }
    return entries;
  }

  net::Loop& loop_;
  const std::string prefix_;
  EtcdClient client_;
  std::unique_ptr<EtcdWatch> watch_;
};

}  // namespace

std::unique_ptr<PolicySource> policy_in_etcd(net::Loop& loop, const RemotePlace& place) {
  return std::make_unique<EtcdSource>(loop, place);
}

std::unique_ptr<OverlayKeeper> overlay_in_etcd(net::Loop& loop, const RemotePlace& place) {
  return std::make_unique<EtcdOverlay>(loop, place);
}

}  // namespace weir::app
