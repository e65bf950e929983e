#include "app/live/last_good.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "app/live/fingerprint.h"
#include "app/live/replace_file.h"
#include "base/log.h"
#include "base/text_file.h"
#include "policy/document.h"

namespace weir::app {
namespace {

// Where programs keep such things; empty: nowhere.
std::string usual_folder() {
  if (const char* state = std::getenv("STATE_DIRECTORY")) return state;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return std::string(cache) + "/weir";
  if (const char* home = std::getenv("HOME")) return std::string(home) + "/.cache/weir";
  return {};
}

}  // namespace

LastGood::LastGood(std::string file, const std::string& place) : file_(std::move(file)) {
  if (!file_.empty()) return;
  const std::string folder = usual_folder();
  if (folder.empty()) return;
  constexpr std::size_t kDigits = 16;
  const std::string digest = fingerprint(place);
  file_ = folder + "/policy-" + digest.substr(digest.find(':') + 1, kDigits);
}

Result<policy::PolicyText> LastGood::read(const std::string& place) const {
  if (file_.empty()) return Error{ErrorCode::kNotFound, "no copy of it is kept"};
  auto text = read_text_file(file_, policy::kLargestFile);
  if (!text) return Error{text.error().code, file_ + " " + text.error().message};
  const auto format = policy::format_of(place).value_or(policy::Format::kYaml);
  return policy::PolicyText{place, std::move(text->text), format, false};
}

void LastGood::write(const std::string& text) const {
  if (file_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file_).parent_path(), ignored);
  const Result<bool> written = replace_file(file_, text);
  if (!written) log::warning("policy: no copy of it can be kept: " + written.error().message);
}

}  // namespace weir::app
