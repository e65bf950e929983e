#include "store/redis/sentinel_watch.h"

#include <array>
#include <charconv>

#include "net/steady_time.h"
#include "wire/resp/writer.h"

namespace weir::store::redis {
namespace {

std::optional<Address> read_address(std::string_view host, std::string_view port) {
  Address address{std::string(host), 0};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size()) return std::nullopt;
  if (host.empty() || address.port == 0) return std::nullopt;
  return address;
}

}  // namespace

std::optional<Address> switched_to(std::string_view message, std::string_view name) {
  std::array<std::string_view, 5> words;
  for (std::string_view& word : words) {
    const std::size_t space = message.find(' ');
    word = message.substr(0, space);
    message.remove_prefix(space == std::string_view::npos ? message.size() : space + 1);
  }
  if (words[0] != name || !message.empty()) return std::nullopt;
  return read_address(words[3], words[4]);
}

SentinelWatch::SentinelWatch(net::Loop& loop, const Settings& settings, Found found, Failed failed)
    : loop_(loop),
      settings_(settings),
      found_(std::move(found)),
      failed_(std::move(failed)),
      timer_(loop.executor()) {}

SentinelWatch::~SentinelWatch() {
  *alive_ = false;
  if (node_) node_->close();
}

void SentinelWatch::start() {
  connect();
  arm();
}

void SentinelWatch::look() {
  if (node_ && node_->ready() && !asking_) ask();
}

void SentinelWatch::use_next(const std::string& reason) {
  if (!node_) return;  // left already
  failed_(node_->address(), reason);
  // Not from within the node's own event.
  loop_.post([node = std::move(node_)] { node->close(); });
  node_.reset();
  asking_ = false;
  index_ = (index_ + 1) % settings_.url.addresses.size();
}

void SentinelWatch::connect() {
  Node::Events events;
  events.on_ready = [this, alive = alive_] {
    if (!*alive) return;
    asking_ = false;
    subscribe();
    ask();
  };
  events.on_change = [this, alive = alive_](bool up, const std::string& reason) {
    if (*alive && !up) use_next(reason);
  };
  events.on_lost = [this, alive = alive_](const std::string& reason) {
    if (*alive) use_next(reason);
  };
  events.on_push = [this, alive = alive_](const resp::Reply& push) {
    if (*alive) take_push(push);
  };
  node_ = std::make_shared<Node>(loop_, settings_.sentinel(settings_.url.addresses[index_]),
                                 std::move(events));
  node_->start();
}

// WHY only with RESP3: in RESP2 a subscribed connection may ask nothing else.
void SentinelWatch::subscribe() {
  if (!node_->resp3()) return;
  std::string command;
  resp::append_command(command, {"SUBSCRIBE", "+switch-master"});
  // RESP3 confirms a subscription by a message, which is no reply: a PING behind it is answered.
  resp::append_command(command, {"PING"});
  node_->call(command, 0, net::steady_ns() + settings_.connect_timeout.count(),
              [](const Outcome&) {});
}

void SentinelWatch::ask() {
  asking_ = true;
  std::string command;
  resp::append_command(command, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", settings_.url.master});
  node_->call(command, 0, net::steady_ns() + settings_.connect_timeout.count(),
              [this, alive = alive_](const Outcome& outcome) {
                if (*alive) take_answer(outcome);
              });
}

void SentinelWatch::take_answer(const Outcome& outcome) {
  asking_ = false;
  if (outcome.ending != Ending::kReply) return;  // the node's breaker sees to it
  const resp::Reply& reply = *outcome.reply;
  if (reply.is_error()) return use_next("the sentinel answered: " + std::string(reply.text()));
  if (!reply.is_list() || reply.size() != 2) {
    return use_next("the sentinel knows no master called " + settings_.url.master);
  }
  if (const auto address = read_address(reply.at(0).text(), reply.at(1).text())) found_(*address);
}

void SentinelWatch::take_push(const resp::Reply& push) {
  if (push.size() != 3 || push.at(0).text() != "message") return;
  if (const auto address = switched_to(push.at(2).text(), settings_.url.master)) found_(*address);
}

void SentinelWatch::arm() {
  timer_.expires_after(kAskEvery);
  timer_.async_wait([this, alive = alive_](const net::SystemError& error) {
    if (error || !*alive) return;
    arm();
    if (!node_) return connect();
    look();
  });
}

}  // namespace weir::store::redis
