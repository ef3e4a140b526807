// softrnicd: one a user and network namespace. Started by the first program that opens a device; ends when idle.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <string>

#include "control/client.h"
#include "daemon/server.h"
#include "daemon/startup.h"

namespace softrnic::daemon {
namespace {

struct Options {
  int report_fd = -1;
  unsigned idle = 30;
};

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int fail(Startup& startup, const Failure& failure, bool foreground) {
  startup.failed(failure);
  if (foreground) fmt::print(stderr, "softrnicd: {}\n", control::make_error(failure).text);
  return 1;
}

int serve(const Options& options) {
  const bool foreground = options.report_fd < 0;
  Startup startup(options.report_fd);
  const auto role = startup.begin();
  if (!role) return fail(startup, role.error(), foreground);
  if (*role == Startup::Role::second) {
    if (foreground) fmt::print(stderr, "softrnicd: a daemon of this user is running already\n");
    return foreground ? 1 : 0;
  }
  auto netlink = Netlink::open();
  if (!netlink) {
    const int error = netlink.error();
    return fail(startup, refuse(error, ReasonId::daemon_unreachable, error), foreground);
  }
  auto lanes = LanePool::open();
  if (!lanes) return fail(startup, lanes.error(), foreground);
  auto listener = startup.listen();
  if (!listener) return fail(startup, listener.error(), foreground);
  Server server(std::move(*listener), std::move(*netlink), std::move(*lanes), DeviceList(host_name()),
                {std::chrono::seconds(options.idle)});
  startup.ready();
  if (foreground) fmt::print(stderr, "softrnicd: ready, process {}; end it with Ctrl-C\n", getpid());
  return server.run() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace softrnic::daemon

int main(int argc, char** argv) {
  softrnic::daemon::Options options;
  CLI::App app{"softrnicd: the control daemon of softrnic. Programs start it by themselves."};
  app.add_option("--idle", options.idle, "seconds to stay without a client; 0: for ever")
      ->capture_default_str();
  app.add_option("--report-fd", options.report_fd, "used by programs that start the daemon");
  CLI11_PARSE(app, argc, argv);
  signal(SIGPIPE, SIG_IGN);
  if (options.report_fd >= 0) {
    fcntl(options.report_fd, F_SETFD, FD_CLOEXEC);
    if (chdir("/") != 0) return 1;
  }
  softrnic::daemon::raise_descriptor_limit();
  return softrnic::daemon::serve(options);
}
