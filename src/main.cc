// The program: reads the command line and hands over to app/.

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

}  // namespace

int main(int argc, char** argv) {
  return std::visit(Run{}, weir::app::parse_command_line(argc, argv));
}
