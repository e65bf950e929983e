// LivePolicy: the policy in force while traffic flows: loads it, puts it in force, keeps the last
// good one when a new one is wrong, applies what is changed through the admin API, and says what
// holds.
//
// A text is read, checked whole and made ready off the loops that serve; only then is it swapped
// in, in one step. Nothing of a text with a mistake is taken.
//
// THREADS: the control loop's, but for what admin::Control says of any thread.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/live/files_watch.h"
#include "app/live/last_good.h"
#include "app/live/overlay_keeper.h"
#include "app/live/policy_source.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "engine/engine.h"
#include "net/loop.h"
#include "policy/load.h"
#include "serve/admin/control.h"
#include "weir/result.h"

namespace weir::app {

class LivePolicy final : public admin::Control {
 public:
  struct Services {
    const Clock& clock;
    metrics::Registry& registry;
    const engine::Engine& engine;  // where the policy in force is
    // Checks a policy and puts it in force, or changes nothing. ERRORS: what it refuses.
    std::function<Result<bool>(policy::Policy policy)> install;
    // The same for one that differs from the one in force by entries of the overlay alone; no file
    // that it names is read again.
    std::function<Result<bool>(policy::Policy policy)> change;
  };

  // `source` null: the policy came from the command line and cannot be read again. `last_good`: the
  // file for a copy of a policy from etcd or Redis; empty: the usual place.
  LivePolicy(net::Loop& control, std::unique_ptr<PolicySource> source, std::string last_good);
  ~LivePolicy() override;

  // Reads the policy for the first time, and what has been changed of it; blocks. What is wrong
  // with it stands in the findings. REQUIRES: no thread is in the loop's run().
  policy::Loaded load_first();
  // The policy of a command line.
  void use(const policy::Policy& policy);

  // From here on the policy can change. REQUIRES: the first one is in force; what the services name
  // outlives the loop's run.
  void start(Services services);
  // Reads and checks again, and puts in force what was read, the same text too: certificates and
  // other files that it names are read anew.
  void reload(
      const std::string& cause, Done done = [](const admin::Outcome&) {});
  // Answers all that was asked, and that comes from now on, that the program ends.
  // REQUIRES: no thread is in the loop's run().
  void stop();

  admin::PolicyStatus status() const override;
  void run(admin::Change change, Done done) override;

 private:
  // A policy as its source has it.
  struct Base {
    policy::Policy policy;
    policy::NodePtr tree;
    std::string hash;
  };

  // A change that is kept, and in force with the next policy.
  struct Waiting {
    overlay::Name target;
    std::string who;
    std::optional<overlay::Entry> before;  // what was there
    std::optional<overlay::Entry> entry;   // what is there; nothing: the policy's own
    Done done;
  };

  static constexpr Duration kExpiryEvery = std::chrono::seconds(1);

  Result<policy::PolicyText> read_first();
  std::optional<Error> load_entries();
  void look();
  void take(Result<policy::PolicyText> text, const std::string& cause, bool watched,
            const Done& done);
  Result<bool> install(const Base& base, const overlay::Entries& entries, bool news);
  Result<bool> install_whole(const overlay::Entries& entries);
  Result<bool> put(const Base& base, policy::Policy policy);
  void now_in_force(const std::string& hash, overlay::Applied applied, bool news);
  void refuse(std::vector<std::string> reasons, const std::string& cause, const Done& done);
  void forget_refusal();
  void set_trouble(std::string trouble);
  void count(std::string_view result);
  void watch_named();
  void obey(admin::Change change, const Done& done);
  void set(const admin::Change& change, const Done& done);
  void remove(const admin::Change& change, const Done& done);
  void stored(const admin::Change& change, std::optional<overlay::Entry> entry,
              const Result<bool>& stored, const Done& done);
  std::optional<overlay::Entry> exchange_entry(const overlay::Name& target,
                                               const std::optional<overlay::Entry>& entry);
  void put_in_force(std::vector<Waiting> changes);
  void tell_in_force(const Waiting& change);
  void take_back(const Waiting& change, const Error& why);
  void take_entries(overlay::Entries entries);
  void arm_expiry();
  void on_expiry();
  admin::Outcome list() const;
  admin::Outcome bans() const;

  net::Loop& loop_;
  const std::unique_ptr<PolicySource> source_;
  std::unique_ptr<OverlayKeeper> keeper_;
  std::optional<LastGood> last_good_;  // of a source that may not answer
  std::optional<Services> services_;   // from start() on
  Base base_;
  overlay::Entries entries_;  // in force, but for what is set aside, and waits
  std::vector<Waiting> waiting_;
  std::string refused_;  // last: a text's hash, or why there was none; empty once one is in force
  std::string first_text_;  // to be kept once it is in force
  net::SteadyTimer expiry_;
  FilesWatch named_;  // the files that the policy names: lists, keys of tokens, a body

  mutable std::mutex mutex_;
  admin::PolicyStatus status_;          // by mutex_, as is what follows
  std::vector<std::string> set_aside_;  // entries that do not fit the policy
  std::string trouble_;                 // with the place that the policy comes from
  bool stopping_ = false;
};

}  // namespace weir::app
