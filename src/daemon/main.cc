// softrnicd: one a user and network namespace. Started by the first program that opens a device; ends when
// idle.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/settings.h"
#include "base/short_slices.h"
#include "control/client.h"
#include "daemon/daemon_options.h"
#include "daemon/server.h"
#include "daemon/startup.h"

namespace softrnic::daemon {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// It serves all programs of the user: what one of them has set for itself does not count.
void raise_limits() {
  for (const auto resource : {RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
  }
}

int fail(Startup& startup, const Failure& failure, bool foreground) {
  startup.failed(failure);
  if (foreground) fmt::print(stderr, "softrnicd: {}\n", control::make_error(failure).text);
  return 1;
}

/// What the environment asks for. Only in the foreground: else it is the environment of whatever program came
/// first, and speaks of that program. False after a complaint.
bool read_settings(Server::Options& out) {
  out.prints = settings().explain;
  const auto faults = link::parse_fault_plan(settings().faults);
  if (!faults) {
    fmt::print(stderr, "softrnicd: SOFTRNIC_FAULTS: {}\n", faults.error());
    return false;
  }
  out.faults = *faults;
  if (settings().capture.empty()) return true;
  auto capture = link::CaptureFile::create(settings().capture);
  if (capture) {
    out.capture = std::move(*capture);
  } else {
    fmt::print(stderr, "softrnicd: SOFTRNIC_CAPTURE: {}: {}\n", settings().capture,
               std::strerror(capture.error()));
  }
  return capture.has_value();
}

int serve(const Options& options) {
  const bool foreground = options.report_fd < 0;
  Server::Options serving{.idle = std::chrono::seconds(options.idle)};
  if (foreground && !read_settings(serving)) return 1;
  Startup startup(options.report_fd);
  const auto role = startup.begin();
  if (!role) return fail(startup, role.error(), foreground);
  if (*role == Startup::Role::second) {
    if (foreground) fmt::print(stderr, "softrnicd: a daemon of this user is running already\n");
    return foreground ? 1 : 0;
  }
  auto netlink = net::Netlink::open();
  if (!netlink) {
    const int error = netlink.error();
    return fail(startup, refuse(error, ReasonId::daemon_unreachable, error), foreground);
  }
  auto lanes = LanePool::open();
  if (!lanes) return fail(startup, lanes.error(), foreground);
  auto listener = startup.listen();
  if (!listener) return fail(startup, listener.error(), foreground);
  Server server(std::move(*listener), std::move(*netlink), std::move(*lanes), DeviceList(host_name()),
                std::move(serving));
  startup.ready();
  if (foreground) fmt::print(stderr, "softrnicd: ready, process {}; end it with Ctrl-C\n", getpid());
  return server.run() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace softrnic::daemon

int main(int argc, char** argv) {
  softrnic::daemon::Options options;
  CLI::App app;
  softrnic::daemon::add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  signal(SIGPIPE, SIG_IGN);
  if (options.report_fd >= 0) {
    fcntl(options.report_fd, F_SETFD, FD_CLOEXEC);
    if (chdir("/") != 0) return 1;
  }
  softrnic::daemon::raise_limits();
  softrnic::ask_for_short_slices();
  return softrnic::daemon::serve(options);
}
