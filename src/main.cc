// The program: reads the command line and hands over to app/.

#include <fcntl.h>

#include <cstdio>

#include "app/changes.h"
#include "app/command_line.h"
#include "app/demo.h"
#include "app/serve.h"
#include "app/top.h"
#include "app/validate.h"

namespace {

struct Run {
  int operator()(const weir::app::Finished& finished) const {
    std::fputs(finished.text.c_str(), finished.exit_code == 0 ? stdout : stderr);
    return finished.exit_code;
  }
  int operator()(const weir::app::ServeOptions& options) const { return run_serve(options); }
  int operator()(const weir::app::ValidateOptions& options) const { return run_validate(options); }
  int operator()(const weir::app::DemoOptions& options) const { return run_demo(options); }
  int operator()(const weir::app::TopOptions& options) const { return run_top(options); }
  int operator()(const weir::app::KeysOptions& options) const { return run_keys(options); }
  int operator()(const weir::app::SetOptions& options) const { return run_set(options); }
  int operator()(const weir::app::GetOptions& options) const { return run_get(options); }
  int operator()(const weir::app::ResetOptions& options) const { return run_reset(options); }
  int operator()(const weir::app::BanOptions& options) const { return run_ban(options); }
};

// WHY: who starts a program with one of these closed would have the next file or connection take
// its number, and what is printed would go there.
void fill_standard_files() {
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);  // the lowest that is free: this one
  }
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_files();
  return std::visit(Run{}, weir::app::parse_command_line(argc, argv));
}
