#include "engine/request_view.h"

#include "policy/path.h"

namespace weir::engine {

using policy::Attribute;

std::optional<std::string_view> RequestView::find(const Attribute& attribute) const {
  if (attribute.kind == Attribute::Kind::kIp) return std::nullopt;
  const auto value = attributes_.find(attribute);
  if (attribute.kind == Attribute::Kind::kMethod && value == "HEAD") return "GET";
  return value;
}

const std::optional<IpAddress>& RequestView::ip() {
  if (!ip_) ip_ = attributes_.ip();
  return *ip_;
}

std::optional<std::string_view> RequestView::method() const {
  return attributes_.find(Attribute{Attribute::Kind::kMethod, {}});
}

std::optional<std::string_view> RequestView::path() {
  return read_path().kept;
}

const std::optional<std::string>& RequestView::path_with_slashes() {
  return read_path().decoded;
}

bool RequestView::is_message() const {
  return attributes_.find(Attribute{Attribute::Kind::kMessage, {}}).has_value();
}

const RequestView::Path& RequestView::read_path() {
  if (!path_) {
    path_.emplace();
    path_->kept = attributes_.find(Attribute{Attribute::Kind::kPath, {}});
    if (path_->kept) path_->decoded = policy::with_slashes_decoded(*path_->kept, paths_);
  }
  return *path_;
}

}  // namespace weir::engine
