#include "store/redis/refusal.h"

#include <charconv>

#include "store/redis/key_name.h"

namespace weir::store::redis {
namespace {

struct Word {
  std::string_view text;
  Refusal refusal;
};

constexpr Word kWords[] = {
    {"NOSCRIPT", Refusal::kNoScript},
    {"MOVED", Refusal::kMoved},
    {"ASK", Refusal::kAsk},
    {"TRYAGAIN", Refusal::kTryAgain},
    {"CLUSTERDOWN", Refusal::kClusterDown},
    {"LOADING", Refusal::kLoading},
    {"MASTERDOWN", Refusal::kReadOnly},
    {"READONLY", Refusal::kReadOnly},
    {"NOREPLICAS", Refusal::kReadOnly},
    {"WRONGPASS", Refusal::kDenied},
    {"NOAUTH", Refusal::kDenied},
    {"NOPERM", Refusal::kDenied},
    {"WRONGTYPE", Refusal::kForeign},
};

constexpr std::string_view kNames[] = {"noscript", "moved",    "ask",    "tryagain", "clusterdown",
                                       "loading",  "readonly", "denied", "foreign",  "other"};

template <typename Number>
bool take_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool ran_nothing(Refusal refusal) {
  return refusal <= Refusal::kReadOnly;
}

Refusal refusal_of(std::string_view error) {
  const std::string_view word = error.substr(0, error.find(' '));
  for (const Word& known : kWords) {
    if (known.text == word) return known.refusal;
  }
  return Refusal::kOther;
}

std::optional<Redirect> redirect_of(std::string_view error) {
  const std::size_t first = error.find(' ');
  if (first == std::string_view::npos) return std::nullopt;
  std::string_view rest = error.substr(first + 1);
  const std::size_t second = rest.find(' ');
  if (second == std::string_view::npos) return std::nullopt;
  Redirect redirect;
  if (!take_number(rest.substr(0, second), redirect.slot)) return std::nullopt;
  rest.remove_prefix(second + 1);
  const std::size_t colon = rest.rfind(':');
  if (redirect.slot >= kSlots || colon == std::string_view::npos) return std::nullopt;
  if (!take_number(rest.substr(colon + 1), redirect.address.port)) return std::nullopt;
  redirect.address.host = rest.substr(0, colon);
  if (redirect.address.port == 0) return std::nullopt;
  return redirect;
}

std::string_view to_string(Refusal refusal) {
  return kNames[static_cast<std::size_t>(refusal)];
}

}  // namespace weir::store::redis
