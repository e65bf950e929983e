#include "app/store_keeper.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace weir::app {
namespace {

std::unique_ptr<store::MemoryStore> make(const policy::Store& settings) {
  store::MemoryOptions options;
  options.max_keys = settings.max_keys;
  return std::make_unique<store::MemoryStore>(options);
}

void put_aside(const std::string& file) {
  const std::string aside = file + ".refused";
  if (std::rename(file.c_str(), aside.c_str()) == 0) {
    log::warning("the counters start afresh; " + file + " is kept as " + aside);
    return;
  }
  log::warning("the counters start afresh; " + file + " cannot be kept as " + aside + ": " +
               std::generic_category().message(errno));
}

}  // namespace

StoreKeeper::StoreKeeper(store::MemoryStore& store, const Clock& clock,
                         std::optional<policy::Snapshot> snapshot)
    : store_(store), clock_(clock), snapshot_(std::move(snapshot)) {
  const std::int64_t now = clock_.steady_ns();
  sweep_at_ = now + kSweepEvery.count();
  if (snapshot_) save_at_ = now + snapshot_->every.count();
}

StoreKeeper::~StoreKeeper() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  parking_.wake();
  thread_.join();
}

void StoreKeeper::start() {
  thread_ = std::thread([this] { run(); });
}

void StoreKeeper::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  parking_.wake();
  thread_.join();
  if (snapshot_) save(clock_.now());
}

void StoreKeeper::run() {
  while (!stopping_) clock_.park(parking_, tend(clock_.now()));
}

// WHY from `now` on, not from when it was due: a machine that slept catches up once, not often.
std::int64_t StoreKeeper::tend(Instant now) {
  if (now.steady_ns >= sweep_at_) {
    store_.sweep(now);
    sweep_at_ = now.steady_ns + kSweepEvery.count();
  }
  if (!snapshot_) return sweep_at_;
  if (now.steady_ns >= save_at_) {
    save(now);
    save_at_ = now.steady_ns + snapshot_->every.count();
  }
  return std::min(sweep_at_, save_at_);
}

void StoreKeeper::save(Instant now) {
  const Result<std::size_t> saved = store_.save(snapshot_->file, now);
  if (!saved && !failing_) log::error(saved.error().message);
  if (saved && failing_) log::info("snapshot " + snapshot_->file + " is written again");
  failing_ = !saved;
}

std::unique_ptr<store::MemoryStore> open_memory(const policy::Store& settings, Instant now) {
  auto memory = make(settings);
  if (!settings.snapshot) return memory;
  const std::string& file = settings.snapshot->file;
  const Result<std::size_t> restored = memory->restore(file, now);
  if (restored) {
    if (*restored > 0) {
      log::info("snapshot " + file + ": " + std::to_string(*restored) + " counters restored");
    }
    return memory;
  }
  log::warning(restored.error().message);
  put_aside(file);
  return make(settings);  // nothing of a file that was half right
}

}  // namespace weir::app
