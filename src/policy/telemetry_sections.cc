// `metrics`, `log`: what weir tells of itself.

#include <array>

#include "policy/sections.h"

namespace weir::policy {
namespace {

void read_key_form(Reader& reader, const Entry& entry, Metrics& out) {
  const int word = read_word(reader, entry, {"plain", "hashed", "off"});
  if (word >= 0) out.keys = static_cast<KeyForm>(word);
}

constexpr std::array kMetricsFields{
    Field<Metrics>{{"top_keys", "whole number, 0 to 1000", "50",
                    "How many of the most refused keys are told."},
                   [](Reader& r, const Entry& e, Metrics& m) {
                     read_number(r, e, m.top_keys, {0, 1000});
                   }},
    Field<Metrics>{{"keys", "plain, hashed or off", "plain",
                    "How keys are told in metrics and logs; `hashed` leaves out `ip` and `user` "
                    "there too."},
                   read_key_form},
};

void read_log_format(Reader& reader, const Entry& entry, Log& out) {
  const int word = read_word(reader, entry, {"logfmt", "json"});
  if (word >= 0) out.format = static_cast<LogFormat>(word);
}

constexpr std::array kLogFields{
    Field<Log>{{"format", "logfmt or json", "logfmt", "How a line is written."}, read_log_format},
    Field<Log>{{"denials", "whole number, 0 to 10000", "0",
                "Refused requests get a line each, at most so many a second; 0: none."},
               [](Reader& r, const Entry& e, Log& l) {
                 read_number(r, e, l.denials, {0, 10000});
               }},
};

}  // namespace

void read_metrics(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Metrics>(reader, entry, kMetricsFields, out.metrics);
}

void read_log(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Log>(reader, entry, kLogFields, out.log);
}

void document_telemetry(std::vector<SectionDoc>& out) {
  out.push_back(document<Metrics>("metrics", "", kMetricsFields));
  out.push_back(document<Log>("log", "", kLogFields));
}

}  // namespace weir::policy
