// The command line of softrnicd.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/user_limits.h"

namespace softrnic::daemon {

struct Options {
  int report_fd = -1;              ///< of the program that has started it; -1: it runs in the foreground
  std::optional<unsigned> idle;    ///< seconds; none: 30, of all users for ever
  bool system = false;             ///< for all users
  std::string user = "softrnic";   ///< whom it becomes when root starts it for all users
  std::vector<std::string> links;  ///< NAME=NETDEV
  UserLimits limits;
};

inline void add_options(CLI::App& app, Options& options) {
  app.description("softrnicd: the control daemon of softrnic. Programs start it by themselves.");
  app.add_option("--idle", options.idle,
                 "seconds to stay without a client; 0: for ever (default: 30; with --system 0)");
  app.add_option("--report-fd", options.report_fd, "used by programs that start the daemon");
  CLI::Option* system = app.add_flag(
      "--system", options.system,
      "serve all users of this network namespace; started by root or by a socket unit of systemd");
  const auto of_system = [&](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->needs(system);
  };
  of_system("--user", options.user, "run as this user (name or number) when started by root")
      ->capture_default_str();
  of_system("--link", options.links, "NAME=NETDEV: a device; again for each (default: soft0)");
  of_system("--user-connections", options.limits.connections, "connections that one user may have")
      ->capture_default_str();
  of_system("--user-lanes", options.limits.lanes, "lanes that one user may have: one a process, as a rule")
      ->capture_default_str();
  of_system("--user-channels", options.limits.channels, "event channels of rdma_cm that one user may have")
      ->capture_default_str();
  of_system("--user-ids", options.limits.ids, "ids of rdma_cm that one user may have")->capture_default_str();
}

}  // namespace softrnic::daemon
