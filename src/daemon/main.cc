// softrnicd: one a user and network namespace, started by the first program that opens a device; ends when
// idle. Or one of all users, started by the administrator.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/reason_id.h"
#include "base/settings.h"
#include "base/short_slices.h"
#include "control/client.h"
#include "daemon/daemon_options.h"
#include "daemon/server.h"
#include "daemon/startup.h"
#include "daemon/system_mode.h"

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

int complain(const std::string& text) {
  fmt::print(stderr, "softrnicd: {}\n", text);
  return 1;
}

int fail(Startup& startup, const Failure& failure, bool foreground) {
  startup.failed(failure);
  return foreground ? complain(control::make_error(failure).text) : 1;
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

/// An exit code when that is all.
std::optional<int> read_command_line(int argc, char** argv, Options& options) {
  const grammar::Grammar softrnicd = make_grammar(options);
  const auto trouble = softrnicd.parse(std::vector<std::string>(argv + 1, argv + argc));
  if (!trouble) return {};
  if (!trouble->wants_help) {
    complain(trouble->text + "; try --help");
    return 2;
  }
  fmt::print("{}", softrnicd.help());
  return 0;
}

std::chrono::seconds idle_of(const Options& options) {
  return std::chrono::seconds(options.idle.value_or(options.system ? 0 : 30));
}

struct Parts {
  net::Netlink netlink;
  LanePool lanes;
};

Expected<Parts, Failure> open_parts(LanePool::Users users) {
  auto netlink = net::Netlink::open();
  if (!netlink) return Unexpected{refuse(netlink.error(), ReasonId::daemon_unreachable, netlink.error())};
  auto lanes = LanePool::open(users);
  if (!lanes) return Unexpected{lanes.error()};
  return Parts{std::move(*netlink), std::move(*lanes)};
}

/// The user's own daemon.
int serve_user(const Options& options, Server::Options serving) {
  const bool foreground = options.report_fd < 0;
  Startup startup(options.report_fd);
  const auto role = startup.begin();
  if (!role) return fail(startup, role.error(), foreground);
  if (*role == Startup::Role::second) {
    if (foreground) return complain("a daemon of this user, or of all users, is running already");
    return 0;
  }
  auto parts = open_parts(LanePool::Users::one);
  if (!parts) return fail(startup, parts.error(), foreground);
  auto listener = startup.listen();
  if (!listener) return fail(startup, listener.error(), foreground);
  Server server(std::move(*listener), std::move(parts->netlink), std::move(parts->lanes),
                DeviceList(host_name()), std::move(serving));
  startup.ready();
  if (foreground) fmt::print(stderr, "softrnicd: ready, process {}; end it with Ctrl-C\n", getpid());
  return server.run() == 0 ? 0 : 1;
}

/// `link`: NAME=NETDEV, as the option gave it.
Expected<void, std::string> add_link(DeviceList& devices, const std::string& link, device::Kind kind,
                                     const net::NetSnapshot& network) {
  const std::string option = kind == device::Kind::iwarp ? "--iwarp-link" : "--link";
  const std::size_t equals = link.find('=');
  if (equals == std::string::npos) return Unexpected{option + ": not NAME=NETDEV: " + link};
  const auto added = devices.add({link.substr(0, equals), link.substr(equals + 1), kind}, network);
  if (!added) return Unexpected{option + " " + link + ": " + control::make_error(added.error()).text};
  return {};
}

/// That of all users. Programs that come early wait in the listener's queue.
int serve_all_users(const Options& options, Server::Options serving) {
  auto listener = listen_for_all_users();
  if (!listener) return complain(listener.error());
  if (auto became = become(options.user); !became) return complain(became.error());
  auto parts = open_parts(LanePool::Users::all);
  if (!parts) return complain(control::make_error(parts.error()).text);
  DeviceList devices(host_name());
  if (!options.links.empty() || !options.iwarp_links.empty()) {
    const auto network = parts->netlink.snapshot(true);
    if (!network) return complain(fmt::format("cannot read the network: {}", std::strerror(network.error())));
    if (options.links.empty()) devices.update(*network, true);  // soft0 comes first
    for (const std::string& link : options.links)
      if (auto added = add_link(devices, link, device::Kind::roce_v2, *network); !added)
        return complain(added.error());
    for (const std::string& link : options.iwarp_links)
      if (auto added = add_link(devices, link, device::Kind::iwarp, *network); !added)
        return complain(added.error());
  }
  serving.limits = options.limits;
  Server server(std::move(*listener), std::move(parts->netlink), std::move(parts->lanes), std::move(devices),
                std::move(serving));
  fmt::print(stderr, "softrnicd: ready for all users, process {}, user {}\n", getpid(), geteuid());
  return server.run() == 0 ? 0 : 1;
}

int serve(const Options& options) {
  Server::Options serving{.idle = idle_of(options)};
  if (options.report_fd < 0 && !read_settings(serving)) return 1;
  return options.system ? serve_all_users(options, std::move(serving))
                        : serve_user(options, std::move(serving));
}

}  // namespace
}  // namespace softrnic::daemon

int main(int argc, char** argv) {
  softrnic::daemon::Options options;
  if (const auto code = softrnic::daemon::read_command_line(argc, argv, options)) return *code;
  signal(SIGPIPE, SIG_IGN);
  if (options.report_fd >= 0) {
    fcntl(options.report_fd, F_SETFD, FD_CLOEXEC);
    if (chdir("/") != 0) return 1;
  }
  softrnic::daemon::raise_limits();
  softrnic::ask_for_short_slices();
  return softrnic::daemon::serve(options);
}
