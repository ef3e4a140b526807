#include "daemon/daemon_options.h"

namespace softrnic::daemon {

grammar::Grammar make_grammar(Options& options) {
  grammar::Grammar softrnicd("softrnicd: the control daemon of softrnic. Programs start it by themselves.",
                             "softrnicd");
  const grammar::Command root = softrnicd.root();
  root.option("--idle", options.idle,
              "seconds to stay without a client; 0: for ever (default: 30; with --system 0)");
  root.option("--report-fd", options.report_fd, "used by programs that start the daemon");
  const grammar::Option system =
      root.flag("--system", options.system,
                "serve all users of this network namespace; started by root or by a socket unit of systemd");
  const auto of_system = [&](const char* name, auto& value, const char* help) {
    return root.option(name, value, help).needs(system);
  };
  of_system("--user", options.user, "run as this user (name or number) when started by root").shows_default();
  of_system("--link", options.links, "NAME=NETDEV: a device; again for each (default: soft0)");
  of_system("--iwarp-link", options.iwarp_links,
            "NAME=NETDEV: an iWARP device beside the others; again for each");
  of_system("--user-connections", options.limits.connections, "connections that one user may have")
      .shows_default();
  of_system("--user-lanes", options.limits.lanes, "lanes that one user may have: one a process, as a rule")
      .shows_default();
  of_system("--user-channels", options.limits.channels, "event channels of rdma_cm that one user may have")
      .shows_default();
  of_system("--user-ids", options.limits.ids, "ids of rdma_cm that one user may have").shows_default();
  return softrnicd;
}

}  // namespace softrnic::daemon
