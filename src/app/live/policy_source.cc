#include "app/live/policy_source.h"

#include <utility>

#include "app/live/file_watch.h"
#include "app/live/remote_place.h"
#include "app/live/remote_store.h"

namespace weir::app {
namespace {

class FileSource final : public PolicySource {
 public:
  FileSource(net::Loop& loop, std::string path) : loop_(loop), path_(std::move(path)) {}

  const std::string& name() const override { return path_; }
  void read(Read done) override { done(policy::read_policy_file(path_)); }
  void watch(std::function<void()> changed) override {
    watch_ = std::make_unique<FileWatch>(loop_, path_, std::move(changed));
  }

 private:
  net::Loop& loop_;
  const std::string path_;
  std::unique_ptr<FileWatch> watch_;
};

}  // namespace

Result<std::unique_ptr<PolicySource>> open_policy_source(net::Loop& loop,
                                                         const std::string& where) {
  auto place = parse_remote_place(where);
  if (!place) return place.error();
  if (!*place) return std::unique_ptr<PolicySource>(std::make_unique<FileSource>(loop, where));
  const bool etcd = (*place)->kind == RemotePlace::Kind::kEtcd;
  return etcd ? policy_in_etcd(loop, **place) : policy_in_redis(loop, **place);
}

}  // namespace weir::app
