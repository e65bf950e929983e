#include "serve/admin/stats.h"

#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/seconds.h"
#include "engine/compiled_policy.h"

namespace weir::admin {
namespace {

// Writes one JSON value after the other, with the commas between them.
class Json {
 public:
  Json& open(char bracket) {
    comma();
    out_ += bracket;
    fresh_ = true;
    return *this;
  }
  Json& close(char bracket) {
    out_ += bracket;
    fresh_ = false;
    return *this;
  }
  Json& key(std::string_view name) {
    comma();
    append_json_string(out_, name);
    out_ += ':';
    fresh_ = true;
    return *this;
  }
  Json& text(std::string_view value) {
    comma();
    append_json_string(out_, value);
    return *this;
  }
  Json& boolean(bool value) {
    comma();
    out_ += value ? "true" : "false";
    return *this;
  }
  template <typename Integer>
  Json& integer(Integer value) {
    comma();
    out_ += std::to_string(value);
    return *this;
  }
  // Four digits are what a person reads.
  Json& number(double value) {
    comma();
    char buffer[32];
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 4).ptr;
    out_.append(buffer, end);
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  void comma() {
    if (!fresh_ && !out_.empty()) out_ += ',';
    fresh_ = false;
  }

  std::string out_;
  bool fresh_ = true;
};

std::string_view source_name(std::size_t index) {
  return to_string(static_cast<Source>(index));
}

void write_overall(Json& json, const Overall& overall) {
  json.key("rates").open('{');
  json.key("allowed").number(overall.allowed_rate);
  json.key("denied").number(overall.denied_rate);
  json.key("error").number(overall.error_rate);
  json.key("sources").open('{');
  for (std::size_t i = 0; i < engine::kSources; ++i) {
    if (overall.source_rates[i] > 0) {
      json.key(source_name(i)).number(overall.source_rates[i]);
    }
  }
  json.close('}').close('}');
  json.key("totals").open('{');
  json.key("allowed").integer(overall.allowed);
  json.key("denied").integer(overall.denied);
  json.key("error").integer(overall.error).close('}');
  json.key("waits").open('{');
  json.key("p50").number(overall.wait_p50);
  json.key("p99").number(overall.wait_p99).close('}');
}

void write_store(Json& json, const StoreState& store, const Overall& overall) {
  json.key("store").open('{');
  json.key("kind").text(store.kind);
  json.key("up").boolean(store.up);
  json.key("trouble").text(store.trouble);
  json.key("keys").integer(store.keys);
  json.key("max_keys").integer(store.max_keys);
  json.key("evictions").integer(store.evictions);
  json.key("p50").number(overall.store_p50);
  json.key("p99").number(overall.store_p99).close('}');
}

void write_limit(Json& json, const LimitFigures& limit, bool history) {
  const double rate = limit.allowed_rate + limit.denied_rate;
  json.open('{').key("name").text(limit.name);
  json.key("algorithm").text(limit.algorithm);
  json.key("shadow").boolean(limit.shadow);
  json.key("rate").number(rate);
  json.key("denied_rate").number(limit.denied_rate);
  json.key("refused").number(rate > 0 ? limit.denied_rate / rate : 0);
  if (limit.fullness >= 0) json.key("fullness").number(limit.fullness);
  json.key("wait_p50").number(limit.wait_p50);
  json.key("wait_p99").number(limit.wait_p99);
  json.key("allowed").integer(limit.allowed);
  json.key("denied").integer(limit.denied);
  json.key("minutes").open('[');
  for (std::size_t i = history ? 0 : kMinutes - 1; i < kMinutes; ++i) {
    const MinuteCount& minute = limit.minutes[i];
    json.open('[').integer(minute.allowed).integer(minute.denied).close(']');
  }
  json.close(']').close('}');
}

void write_keys(Json& json, const std::vector<KeyFigures>& keys) {
  json.key("keys").open('[');
  for (const KeyFigures& one : keys) {
    json.open('{').key("limit").text(one.key.limit);
    json.key("key").text(one.key.shown);
    json.key("attributes").open('[');
    for (const auto& [name, value] : one.key.parts) json.text(name);
    json.close(']').key("values").open('[');
    for (const auto& [name, value] : one.key.parts) json.text(value);
    json.close(']');
    json.key("denied").integer(one.key.count);
    json.key("error").integer(one.key.error);
    json.key("recent").integer(one.recent);
    json.key("rate").number(one.rate).close('}');
  }
  json.close(']');
}

// By columns, as charts want it.
void write_hour(Json& json, const std::deque<Point>& hour, std::size_t count) {
  const std::size_t begin = hour.size() > count ? hour.size() - count : 0;
  const auto column = [&](std::string_view name, auto value) {
    json.key(name).open('[');
    for (std::size_t i = begin; i < hour.size(); ++i) json.number(value(hour[i]));
    json.close(']');
  };
  json.key("hour").open('{').key("step").integer(Figures::kPointSeconds).key("t").open('[');
  for (std::size_t i = begin; i < hour.size(); ++i) json.integer(hour[i].unix_s);
  json.close(']');
  column("allowed", [](const Point& p) { return p.allowed; });
  column("denied", [](const Point& p) { return p.denied; });
  column("error", [](const Point& p) { return p.error; });
  column("wait_p50", [](const Point& p) { return p.wait_p50; });
  column("wait_p99", [](const Point& p) { return p.wait_p99; });
  column("fullness", [](const Point& p) { return p.fullness; });
  json.key("sources").open('{');
  for (std::size_t s = 0; s < engine::kSources; ++s) {
    column(source_name(s), [s](const Point& p) { return p.sources[s]; });
  }
  json.close('}').close('}');
}

void write_events(Json& json, const std::vector<Event>& events) {
  json.key("events").open('[');
  for (const Event& event : events) {
    json.open('{').key("n").integer(event.number);
    json.key("ms").integer(event.unix_ms);
    json.key("level").text(log::to_string(event.level));
    json.key("text").text(event.text).close('}');
  }
  json.close(']');
}

}  // namespace

std::string render_stats(const Figures& figures, const engine::Engine& engine, const About& about,
                         const Events& events, Instant now, const StatsOptions& options) {
  const auto policy = engine.current();
  const Readiness readiness = about.readiness();
  Json json;
  json.open('{').key("version").text(about.version);
  json.key("ms").integer(now.wall_ns / kNsPerMs);
  json.key("minute").integer(figures.minute());
  json.key("ready").boolean(readiness.ready).key("reasons").open('[');
  for (const std::string& reason : readiness.reasons) json.text(reason);
  json.close(']');
  json.key("policy").open('{').key("file").text(readiness.policy.source);
  json.key("generation").integer(readiness.policy.generation);
  json.key("hash").text(readiness.policy.hash);
  json.key("loaded_ms").integer(readiness.policy.loaded_at_ns / kNsPerMs);
  json.key("enabled").boolean(policy->policy().enabled);
  json.key("limits").integer(policy->limits().size()).close('}');
  write_overall(json, figures.overall());
  write_store(json, about.store(), figures.overall());
  json.key("connections").open('{');
  for (const auto& [listener, count] : about.connections()) json.key(listener).integer(count);
  json.close('}');
  json.key("limits").open('[');
  for (const LimitFigures& limit : figures.limits(options.limits)) {
    write_limit(json, limit, options.history);
  }
  json.close(']');
  write_keys(json, figures.keys());
  write_hour(json, figures.hour(), options.history ? Figures::kHour : options.last_points);
  write_events(json, events.since(options.after));
  json.close('}');
  return json.take();
}

}  // namespace weir::admin
