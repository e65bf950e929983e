#include "policy/limit_doubts.h"

#include <algorithm>

#include "limit/rule.h"
#include "policy/coverage.h"
#include "policy/format.h"
#include "policy/gateway_doubts.h"
#include "policy/overshadowed.h"
#include "policy/path.h"

namespace weir::policy {
namespace {

using Kind = Attribute::Kind;

// Whether a client decides alone if its request has the attribute.
bool client_may_omit(const Attribute& attribute) {
  return attribute.kind == Kind::kUser || attribute.kind == Kind::kTier ||
         attribute.kind == Kind::kHeader || attribute.kind == Kind::kCookie ||
         attribute.kind == Kind::kQuery || attribute.kind == Kind::kMessagePointer;
}

// Whether only callers of an API send it, never a request through the gateway.
bool only_from_apis(const Attribute& attribute) {
  return attribute.kind == Kind::kDeclared || attribute.kind == Kind::kDomain;
}

template <typename Predicate>
bool all_of(const KeyPart& part, Predicate predicate) {
  return std::all_of(part.alternatives.begin(), part.alternatives.end(), predicate);
}

std::string written(const KeyPart& part) {
  std::string out;
  for (const Attribute& attribute : part.alternatives) {
    out += (out.empty() ? "" : " and ") + to_string(attribute);
  }
  return out;
}

bool is_unlimited(const NumberSet& numbers) {
  return !numbers.empty() && std::all_of(numbers.begin(), numbers.end(), [](const Numbers& n) {
    return algorithm_of(n) == Algorithm::kUnlimited;
  });
}

bool limits_nobody(const Limit& limit) {
  if (!is_unlimited(limit.numbers)) return false;
  const bool tiers = std::all_of(limit.tiers.begin(), limit.tiers.end(),
                                 [](const auto& tier) { return is_unlimited(tier.second); });
  return tiers && std::all_of(limit.overrides.begin(), limit.overrides.end(),
                              [](const Override& o) { return is_unlimited(o.numbers); });
}

class LimitDoubts {
 public:
  LimitDoubts(Reader& reader, const Node& root, const Policy& policy)
      : reader_(reader), root_(root), policy_(policy) {
    for (const Match& match : policy.exempt) exempt_.push_back(prepare(match, policy.paths));
  }

  void all() {
    const Entry* entry = root_.find("limits");
    if (entry == nullptr || entry->value->items.size() != policy_.limits.size()) return;
    if (!policy_.enabled && !policy_.limits.empty()) {
      reader_.doubt(place_of(root_, "enabled"), "enabled is false: none of the limits applies");
    }
    for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
      const Node& node = *entry->value->items[i];
      if (node.kind == Node::Kind::kMapping) limit(policy_.limits[i], node);
    }
    overshadowed(entry->value->items);
  }

 private:
  void limit(const Limit& limit, const Node& node) {
    const std::string name = "limit " + quote(limit.name);
    key(limit, node, name);
    if (limit.cost.from) {
      cost_from(limit, node, name);
    } else {
      fixed_cost(limit, node, name);
    }
    if (limits_nobody(limit)) {
      reader_.doubt(place_of(node, "algorithm"), name + " can never fire: it is unlimited for all");
    }
    if (limit.match) taken_out(limit, node, name);
    if (limit.ban) ban(limit, node, name);
    held(limit, node, name);
    never_sent(limit, node, name);
    afterwards(limit, node, name);
  }

  // REQUIRES: limit.match.
  void taken_out(const Limit& limit, const Node& node, const std::string& name) {
    const Match match = prepare(*limit.match, policy_.paths);
    for (const Match& except : limit.except) {
      if (!covers(prepare(except, policy_.paths), match)) continue;
      reader_.doubt(place_of(node, "except"),
                    name + " can never fire: `except` takes out all that `match` lets in");
    }
    for (const Match& exempt : exempt_) {
      if (!covers(exempt, match)) continue;
      reader_.doubt(place_of(node, "match"),
                    name + " can never fire: `exempt` takes out all that `match` lets in");
    }
  }

  void ban(const Limit& limit, const Node& node, const std::string& name) {
    if (limit.key.empty()) {
      reader_.doubt(place_of(node, "ban"), name + " has no key: its ban refuses everybody",
                    "give it a key such as [ip]");
    }
    if (limit.mode == Mode::kShadow) {
      reader_.doubt(place_of(node, "ban"),
                    name + " never bans: in the mode shadow it refuses nobody");
    }
  }

  // Clients and the proxies in front of them wait for about a minute.
  void held(const Limit& limit, const Node& node, const std::string& name) {
    const std::optional<Duration> longest = longest_hold(limit);
    if (!policy_.gateway || !longest || *longest <= std::chrono::minutes(1)) return;
    reader_.doubt(place_of(node, "queue"),
                  name + " may hold a request for " + format_duration(*longest) +
                      " (queue / rate): its client gives up before",
                  "a smaller queue refuses it at once, and says when to come back");
  }

  // What is done when the answer is there, where nobody sees one.
  void afterwards(const Limit& limit, const Node& node, const std::string& name) {
    const bool listens = policy_.api || policy_.resp || policy_.grpc;
    const bool unseen = listens && !policy_.gateway;
    if (unseen && !limit.refund_when.empty()) {
      reader_.doubt(place_of(node, "refund_when"),
                    name + " never gives back: only the gateway sees what an upstream answers",
                    "let the caller of the API send /v1/refund, or add a gateway");
    }
    if (counts_messages(limit) && (!limit.refund_when.empty() || !limit.settle.empty())) {
      reader_.doubt(place_of(node, limit.settle.empty() ? "refund_when" : "settle"),
                    name + " is never corrected: a WebSocket message has no response");
    }
    const bool flight =
        std::any_of(limit.numbers.begin(), limit.numbers.end(),
                    [](const Numbers& n) { return algorithm_of(n) == Algorithm::kConcurrency; });
    if (!flight) return;
    if (counts_messages(limit)) {
      reader_.doubt(place_of(node, "algorithm"),
                    name +
                        " counts messages in flight, and nobody can say when one has ended: each "
                        "counts for its timeout",
                    "limit open connections (without `message`), or take another algorithm");
    }
    // Forward-auth answers proxies alone; behind a gateway they are those in front of it.
    const bool asks = policy_.api && !policy_.gateway && !policy_.identity.trusted_proxies.empty();
    std::string where;
    for (const auto& [there, listener] :
         {std::pair(policy_.resp.has_value(), "resp"), std::pair(policy_.grpc.has_value(), "grpc"),
          std::pair(asks, "forward-auth")}) {
      if (there) where += (where.empty() ? "" : ", ") + std::string(listener);
    }
    if (where.empty()) return;
    reader_.doubt(place_of(node, "algorithm"),
                  name + " does not apply to what is asked through " + where +
                      ": nobody could say there when a call has ended",
                  "ask through the gateway or POST /v1/check, or take another algorithm");
  }

  void overshadowed(const std::vector<NodePtr>& nodes) {
    const auto found = find_overshadowed(policy_.limits);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) continue;
      const std::string other = quote(policy_.limits[*found[i]].name);
      reader_.doubt(place_of(*nodes[i], "name"),
                    "limit " + quote(policy_.limits[i].name) + " can never fire: limit " + other +
                        " meets the same requests, counts them by the same key, and is as strict",
                    "leave one of them out, or give them different numbers");
    }
  }

  void key(const Limit& limit, const Node& node, const std::string& name) {
    if (limit.missing != Missing::kSkip) return;
    for (const KeyPart& part : limit.key) {
      if (!all_of(part, client_may_omit) || never_comes(part)) continue;
      reader_.doubt(place_of(node, "key"),
                    name + " does not count a request without " + written(part) +
                        ": a client can leave it out and pass",
                    "add a fallback such as " + to_string(part.alternatives.front()) +
                        "|ip, or write missing: share or missing: deny");
    }
  }

  void cost_from(const Limit& limit, const Node& node, const std::string& name) {
    if (!client_may_omit(*limit.cost.from)) return;
    reader_.doubt(place_of(node, "cost"), name + " takes its cost from " +
                                              to_string(*limit.cost.from) +
                                              ": a client says itself what it pays");
  }

  void fixed_cost(const Limit& limit, const Node& node, const std::string& name) {
    if (limit.cost.max_cost) {
      reader_.doubt(place_of(node, "max_cost"),
                    name + " has a max_cost, which a cost that is a plain number does not need");
    }
    if (limit.cost.fixed == 0) {
      reader_.doubt(place_of(node, "cost"), name + " can never fire: its cost is 0");
      return;
    }
    for (const Numbers& numbers : limit.numbers) {
      const Result<limit::Rule> rule = limit::Rule::make(numbers);
      if (!rule || rule->quota() == 0 || rule->quota() >= limit.cost.fixed) continue;
      reader_.doubt(place_of(node, "cost"), name +
                                                " refuses every request: its cost is above its "
                                                "quota, " +
                                                std::to_string(rule->quota()));
    }
  }

  // Whether the gateway believes nobody who says it.
  bool is_unbelieved(const Attribute& attribute) const {
    const Identity& identity = policy_.identity;
    if (attribute.kind != Kind::kUser && attribute.kind != Kind::kTier) return false;
    const AttributeSource& source = attribute.kind == Kind::kUser ? identity.user : identity.tier;
    return source.kind != AttributeSource::Kind::kJwt && !identity.trust_clients &&
           identity.trusted_proxies.empty();
  }

  // Why no request has it where there is the gateway alone; empty where one may.
  std::string_view why_never(const Attribute& attribute) const {
    const bool apis = policy_.api || root_.find("resp") != nullptr || root_.find("grpc") != nullptr;
    if (apis || !policy_.gateway) return "";
    if (only_from_apis(attribute)) return "only callers of the APIs send it, and no `api` listens";
    if (!is_unbelieved(attribute)) return "";
    return "only trusted proxies are believed to say it, and identity.trusted_proxies is empty";
  }

  bool never_comes(const KeyPart& part) const {
    return all_of(part, [this](const Attribute& one) { return !why_never(one).empty(); });
  }

  void never_sent(const Limit& limit, const Node& node, const std::string& name) {
    const auto doubt = [&](const char* key, const std::string& what, const Attribute& attribute) {
      reader_.doubt(place_of(node, key),
                    name + " can never fire, it " + what + ": " + std::string(why_never(attribute)),
                    is_unbelieved(attribute)
                        ? "list the proxies in front under identity.trusted_proxies, or take it "
                          "from a token (jwt:CLAIM)"
                        : "");
    };
    for (const Condition& condition :
         limit.match ? limit.match->conditions : std::vector<Condition>{}) {
      if (why_never(condition.attribute).empty()) continue;
      doubt("match", "waits for " + to_string(condition.attribute), condition.attribute);
    }
    for (const KeyPart& part : limit.key) {
      if (limit.missing != Missing::kSkip || !never_comes(part)) continue;
      doubt("key", "counts by " + written(part), part.alternatives.front());
    }
  }

  Reader& reader_;
  const Node& root_;
  const Policy& policy_;
  std::vector<Match> exempt_;  // prepared
};

}  // namespace

Position place_of(const Node& mapping, std::string_view key) {
  const Entry* entry = mapping.find(key);
  return entry == nullptr ? mapping.at : entry->at;
}

void warn_of_limits(Reader& reader, const Node& root, const Policy& policy) {
  LimitDoubts(reader, root, policy).all();
}

}  // namespace weir::policy
