// LastGood: a copy on disk of the last policy that was put in force, for a start while the place
// that it comes from does not answer.
//
// THREADS: the control loop's.

#pragma once

#include <optional>
#include <string>

#include "policy/load.h"
#include "weir/result.h"

namespace weir::app {

class LastGood {
 public:
  // `file` empty: below $STATE_DIRECTORY (which systemd gives), $XDG_CACHE_HOME or ~/.cache, named
  // after the policy's place; where there is none of these, nothing is kept.
  LastGood(std::string file, const std::string& place);

  const std::string& file() const { return file_; }
  // ERRORS: kIo, kNotFound.
  Result<policy::PolicyText> read(const std::string& place) const;
  // Only the program's own user can read it. What goes wrong is logged.
  void write(const std::string& text) const;

 private:
  std::string file_;
};

}  // namespace weir::app
