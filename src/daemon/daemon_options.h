// The command line of softrnicd.
#pragma once

#include <CLI/CLI.hpp>

namespace softrnic::daemon {

struct Options {
  int report_fd = -1;  ///< of the program that has started it; -1: it runs in the foreground
  unsigned idle = 30;  ///< seconds
};

inline void add_options(CLI::App& app, Options& options) {
  app.description("softrnicd: the control daemon of softrnic. Programs start it by themselves.");
  app.add_option("--idle", options.idle, "seconds to stay without a client; 0: for ever")
      ->capture_default_str();
  app.add_option("--report-fd", options.report_fd, "used by programs that start the daemon");
}

}  // namespace softrnic::daemon
