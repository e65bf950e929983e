// The policy and the overlay in Redis: the policy as the text of a key, the changes in a hash
// beside it.
//
// WHY asked for, and not told by keyspace notifications: those are off unless the server's operator
// turns them on, and a subscriber does not learn what it missed. To ask costs one small call.
//
// WHY an answer is compared with what was taken last, whoever asked for it, and not with the answer
// before: a change of ours that another undoes within two questions leaves both answers the same.

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "app/live/remote_store.h"
#include "net/steady_time.h"
#include "store/redis/client.h"
#include "store/redis/key_name.h"
#include "store/redis/script.h"
#include "wire/resp/writer.h"

namespace weir::app {
namespace {

namespace redis = store::redis;

constexpr Duration kAskEvery = std::chrono::milliseconds(400);
constexpr Duration kAskAfterRefusal = std::chrono::seconds(1);
constexpr Duration kPatience = std::chrono::seconds(2);

// One key of Redis: commands on it, and a look at whether it has changed.
class RedisKey {
 public:
  using Reply = std::function<void(const Result<const resp::Reply*>& reply)>;

  RedisKey(net::Loop& loop, const RemotePlace& place, std::string key)
      : key_(std::move(key)),
        settings_(redis_settings(place, kPatience)),
        health_(nullptr, redis::Health::Concern::kPolicy),
        client_(loop, settings_, health_),
        timer_(loop.executor()) {
    client_.start();
  }
  ~RedisKey() {
    *alive_ = false;
    client_.close();
  }

  const std::string& key() const { return key_; }

  void command(std::span<const std::string_view> arguments, Reply done) {
    std::string bytes;
    resp::append_command(bytes, arguments);
    client_.send(std::move(bytes), redis::slot_of(key_), net::steady_ns() + kPatience.count(),
                 [alive = alive_, done = std::move(done)](const redis::Outcome& outcome) {
                   if (!*alive) return;
                   if (outcome.ending != redis::Ending::kReply) {
                     return done(Error{ErrorCode::kUnavailable, "redis does not answer"});
                   }
                   if (outcome.reply->is_error()) {
                     return done(Error{ErrorCode::kInvalid,
                                       "redis refuses: " + std::string(outcome.reply->text())});
                   }
                   done(outcome.reply);
                 });
  }

  // Runs `changed` with each answer to `question` that tells of something else than was known.
  void watch(std::vector<std::string_view> question,
             std::function<void(const resp::Reply&)> changed) {
    question_ = std::move(question);
    changed_ = std::move(changed);
    ask();
  }

  // What is known without having been told by the watch: the answer to its question, or nothing
  // where the next answer is news whatever it is.
  void know(std::optional<std::string> answer) { known_ = std::move(answer); }

 private:
  void ask() {
    command(question_, [this](const Result<const resp::Reply*>& reply) {
      if (reply) compare(**reply);
      const bool refused = !reply && reply.error().code == ErrorCode::kInvalid;
      timer_.expires_after(refused ? kAskAfterRefusal : kAskEvery);
      timer_.async_wait([this, alive = alive_](const net::SystemError& error) {
        if (*alive && !error) ask();
      });
    });
  }

  void compare(const resp::Reply& reply) {
    std::string told(reply.text());
    if (reply.size() > 0) {
      for (resp::Reply one = reply.first(); one.valid(); one = one.next()) {
        told += std::to_string(one.text().size()) + ':';
        told += one.text();
      }
    }
    if (known_ == told) return;
    known_ = std::move(told);
    changed_(reply);
  }

  const std::string key_;
  const redis::Settings settings_;
  redis::Health health_;
  redis::Client client_;
  net::SteadyTimer timer_;
  std::vector<std::string_view> question_;  // of texts that outlive this, and key_
  std::optional<std::string> known_;
  std::function<void(const resp::Reply&)> changed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class RedisSource final : public PolicySource {
 public:
  RedisSource(net::Loop& loop, const RemotePlace& place)
      : loop_(loop), place_(place), key_(loop, place, place.key) {}

  const std::string& name() const override { return place_.shown; }
  bool is_remote() const override { return true; }
  std::unique_ptr<OverlayKeeper> overlay() override { return overlay_in_redis(loop_, place_); }

  void read(Read done) override {
    const std::array<std::string_view, 2> get{"GET", key_.key()};
    key_.command(get, [this, done = std::move(done)](const Result<const resp::Reply*>& reply) {
      if (!reply) {
        key_.know(std::nullopt);  // what the watch told of has not been read
        return done(reply.error());
      }
      const bool is_there = (*reply)->is_text();
      std::string text(is_there ? (*reply)->text() : std::string_view());
      key_.know(redis::sha1_hex(text));
      if (!is_there) {
        return done(Error{ErrorCode::kNotFound, "redis has no key " + key_.key()});
      }
      done(policy::PolicyText{place_.shown, std::move(text), place_.format, false});
    });
  }

  void watch(std::function<void()> changed) override {
    // A policy may be large: its digest is asked for.
    key_.watch({"EVAL", "return redis.sha1hex(redis.call('GET', KEYS[1]) or '')", "1", key_.key()},
               [changed = std::move(changed)](const resp::Reply&) { changed(); });
  }

 private:
  net::Loop& loop_;
  const RemotePlace place_;
  RedisKey key_;
};

class RedisOverlay final : public OverlayKeeper {
 public:
  RedisOverlay(net::Loop& loop, const RemotePlace& place)
      : key_(loop, place, place.key + ".changes") {}

  bool persistent() const override { return true; }

  void load(Loaded done) override {
    key_.command(std::array<std::string_view, 2>{"HGETALL", key_.key()},
                 [done = std::move(done)](const Result<const resp::Reply*>& reply) {
                   if (!reply) return done(reply.error());
                   done(entries_in(**reply));
                 });
  }

  void put(const overlay::Name& name, const overlay::Entry& entry, Stored done) override {
    const std::string field = overlay::to_text(name);
    const std::string value = overlay::to_text(entry);
    store(std::array<std::string_view, 4>{"HSET", key_.key(), field, value}, std::move(done));
  }

  void erase(const overlay::Name& name, Stored done) override {
    const std::string field = overlay::to_text(name);
    store(std::array<std::string_view, 3>{"HDEL", key_.key(), field}, std::move(done));
  }

  void watch(std::function<void(overlay::Entries)> changed) override {
    key_.watch({"HGETALL", key_.key()}, [changed = std::move(changed)](const resp::Reply& reply) {
      changed(entries_in(reply));
    });
  }

 private:
  void store(std::span<const std::string_view> arguments, Stored done) {
    key_.command(arguments,
                 [this, done = std::move(done)](const Result<const resp::Reply*>& reply) {
                   if (reply) key_.know(std::nullopt);
                   done(reply ? Result<bool>(true) : Result<bool>(reply.error()));
                 });
  }

  // A map in RESP3, an array of pairs in RESP2: the same values in a row.
  static overlay::Entries entries_in(const resp::Reply& reply) {
    overlay::Entries entries;
    resp::Reply key = reply.first();
    while (reply.size() > 0 && key.valid()) {
      const resp::Reply value = key.next();
      if (!value.valid()) break;
      const auto name = overlay::name_of(key.text());
      const auto entry = overlay::entry_of(value.text());
      if (name && entry && entries.size() < overlay::kMax) entries.emplace(*name, *entry);
      key = value.next();
    }
    return entries;
  }

  RedisKey key_;
};

}  // namespace

std::unique_ptr<PolicySource> policy_in_redis(net::Loop& loop, const RemotePlace& place) {
  return std::make_unique<RedisSource>(loop, place);
}

std::unique_ptr<OverlayKeeper> overlay_in_redis(net::Loop& loop, const RemotePlace& place) {
  return std::make_unique<RedisOverlay>(loop, place);
}

}  // namespace weir::app
