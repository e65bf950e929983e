// The overlay in a file of one JSON object, or in no file at all: then it is forgotten with the
// process.

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "app/live/overlay_keeper.h"
#include "app/live/replace_file.h"
#include "base/json.h"
#include "base/text_file.h"

namespace weir::app {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxFile = 64 << 20;

class FileKeeper final : public OverlayKeeper {
 public:
  explicit FileKeeper(std::string file) : file_(std::move(file)) {}

  bool persistent() const override { return !file_.empty(); }

  void load(Loaded done) override {
    if (file_.empty()) return done(entries_);
    const auto text = read_text_file(file_, kMaxFile);
    if (!text && text.error().code == ErrorCode::kNotFound) return done(entries_);
    if (!text) {
      return done(Error{ErrorCode::kIo, "admin.state: " + file_ + " " + text.error().message});
    }
    const auto value = parse_json(text->text);
    const json::object* object = value ? value->if_object() : nullptr;
    if (object == nullptr) {
      return done(Error{ErrorCode::kIo, "admin.state: " + file_ +
                                            " does not hold changes as weir writes them; move it "
                                            "away to start without them"});
    }
    for (const auto& [key, kept] : *object) {
      const auto name = overlay::name_of(key);
      const auto entry = overlay::entry_of(json::serialize(kept));
      if (name && entry && entries_.size() < overlay::kMax) {
        entries_.insert_or_assign(*name, *entry);
      }
    }
    done(entries_);
  }

  void put(const overlay::Name& name, const overlay::Entry& entry, Stored done) override {
    overlay::Entries next = entries_;
    next.insert_or_assign(name, entry);
    store(std::move(next), done);
  }

  void erase(const overlay::Name& name, Stored done) override {
    overlay::Entries next = entries_;
    next.erase(name);
    store(std::move(next), done);
  }

  void watch(std::function<void(overlay::Entries)>) override {}  // nobody else changes it

 private:
  void store(overlay::Entries next, const Stored& done) {
    if (!file_.empty()) {
      json::object object;
      for (const auto& [name, entry] : next) {
        object[overlay::to_text(name)] = *parse_json(overlay::to_text(entry));
      }
      const std::string text = json::serialize(object) + "\n";
      if (text.size() > kMaxFile) {
        return done(Error{ErrorCode::kExhausted,
                          "the changes would take more than 64 MiB; take some of them back"});
      }
      const Result<bool> replaced = replace_file(file_, text);
      if (!replaced) return done(replaced);
    }
    entries_ = std::move(next);
    done(true);
  }

  const std::string file_;
  overlay::Entries entries_;
};

}  // namespace

std::unique_ptr<OverlayKeeper> keep_overlay_in_file(std::string file) {
  return std::make_unique<FileKeeper>(std::move(file));
}

}  // namespace weir::app
