#include "app/tokens.h"

#include <sys/stat.h>

#include "base/log.h"
#include "jwt/verifier.h"

namespace weir::app {
namespace {

bool is_readable_by_all(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && (about.st_mode & S_IROTH) != 0;
}

}  // namespace

Result<bool> attach_tokens(policy::Policy& policy, metrics::Registry* registry) {
  if (!policy.identity.jwt) return true;
  auto verifier = jwt::Verifier::open(policy.identity, registry);
  if (!verifier) return Error{ErrorCode::kInvalid, verifier.error().message};
  if ((*verifier)->has_secret() && is_readable_by_all((*verifier)->file())) {
    log::warning("identity.jwt: " + (*verifier)->file() +
                 " holds a secret and everybody on this machine can read it; chmod 600 it");
  }
  policy.identity.tokens = *std::move(verifier);
  return true;
}

}  // namespace weir::app
