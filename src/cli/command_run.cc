#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/argument_pointers.h"
#include "base/settings.h"
#include "cli/commands.h"
#include "cli/library_folder.h"
#include "cli/output.h"
#include "cli/run_sysfs.h"

namespace softrnic::cli {
namespace {

struct RunOptions {
  bool explain = false;
  std::string faults;
  std::string capture;
  unsigned lanes = 0;
  std::string device;
  std::string host;
  bool iwarp = false;
  bool crc = false;
  std::string sysfs = "auto";
  bool no_sysfs = false;
  std::vector<std::string> program;
};

void prepend_path(const char* variable, const std::string& folder) {
  const char* old = std::getenv(variable);
  const std::string value = old != nullptr && *old != 0 ? folder + ":" + old : folder;
  setenv(variable, value.c_str(), 1);
}

void set_when_given(const char* variable, const std::string& value) {
  if (!value.empty()) setenv(variable, value.c_str(), 1);
}

using Devices = std::vector<device::DeviceInfo>;

/// "iw0" or one after it.
std::string free_name(const Devices& devices) {
  const auto is_taken = [&](const std::string& name) {
    return std::any_of(devices.begin(), devices.end(), [&](const auto& known) { return known.name == name; });
  };
  std::string name = "iw0";
  for (int i = 1; is_taken(name); ++i) name = fmt::format("iw{}", i);
  return name;
}

/// An iWARP device on the netdev of the first device, which asks for CRCs or does not: one that is there, or
/// a new one. Its name; empty: it cannot be had, which is reported. Where another program makes one at the
/// same time, it is that.
std::string require_iwarp(control::Client& client, bool crc) {
  constexpr int kAttempts = 8;
  for (int attempt = 1;; ++attempt) {
    const auto devices = client.devices();
    if (!devices) return report(devices.error()), "";
    if (devices->empty())
      return complain("no device is there, and so no netdev for one of iWARP; see `softrnic doctor`"), "";
    const std::string& netdev = devices->front().netdev;
    for (const device::DeviceInfo& device : *devices)
      if (device::has_streams(device.kind) && device.netdev == netdev && device.mpa.crc == crc)
        return device.name;
    const std::string name = free_name(*devices);
    const auto added = client.add_link({name, netdev, device::Kind::iwarp, {.crc = crc, .markers = false}});
    if (added) return name;
    if (added.error().failure.error != EEXIST || attempt == kAttempts) return report(added.error()), "";
  }
}

int run(const RunOptions& options) {
  if (options.program.empty()) {
    complain("say which program: softrnic run -- PROGRAM [ARGUMENTS...]");
    return kUsage;
  }
  const std::string folder = require_library_folder();
  if (folder.empty()) return kCannotRun;
  prepend_path("LD_LIBRARY_PATH", folder);
  if (options.explain) setenv("SOFTRNIC_EXPLAIN", "1", 1);
  set_when_given("SOFTRNIC_FAULTS", options.faults);
  set_when_given("SOFTRNIC_CAPTURE", options.capture);
  set_when_given("SOFTRNIC_DEVICE", options.device);
  if (options.lanes != 0) setenv("SOFTRNIC_LANES", std::to_string(options.lanes).c_str(), 1);
  bool failed = false;
  const auto client = connect_daemon(true, failed);
  if (failed) return kCannotRun;
  std::string device = options.device.empty() ? settings().device : options.device;
  if (options.iwarp) {
    device = require_iwarp(*client, options.crc);
    if (device.empty()) return kCannotRun;
    set_when_given("SOFTRNIC_DEVICE", device);
  }
  const SysfsWay way = options.no_sysfs ? SysfsWay::none : *parse_sysfs_way(options.sysfs);
  const bool explain = options.explain || settings().explain;
  if (!show_devices(way, *client, options.program[0], device, folder, explain)) return kCannotRun;
  const std::vector<char*> arguments = argument_pointers(options.program);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  complain(fmt::format("{}: {}", options.program[0], std::strerror(error)));
  return error == ENOENT ? kNotFound : kNotExecutable;
}

/// Its user's own; what it is on, it tells: prompts are his.
int run_shell(const std::string& host) {
  const char* const own = std::getenv("SHELL");
  RunOptions options;
  options.program = {own != nullptr && *own != 0 ? own : "/bin/sh"};
  if (isatty(STDIN_FILENO) == 1)
    complain(
        fmt::format("this shell is on host {}; its exit leaves it. SOFTRNIC_HOST has the name, for prompts: "
                    "PS1=\"($SOFTRNIC_HOST) $PS1\"",
                    host));
  return run(options);
}

}  // namespace

void add_run(const grammar::Command& softrnic, Context& context) {
  auto options = std::make_shared<RunOptions>();
  const grammar::Command command =
      softrnic.command("run", "Run a program on softrnic: run [OPTIONS] [--] PROGRAM [ARGUMENTS...]");
  command.flag("--explain", options->explain,
               "print the reason of every failure, drop and NAK as it happens");
  command.option(
      "--faults", options->faults,
      "inject faults: drop=1%,dup=1%,reorder=1%,corrupt=1%,delay=5ms,seed=7; on an iWARP device cut, stall, "
      "split and corrupt");
  command.option("--capture", options->capture, "write all packets of the program to this pcapng file");
  command.option("--lanes", options->lanes, "sockets and engine threads of the program").within(1, 16);
  const grammar::Option iwarp = command.flag(
      "--iwarp", options->iwarp, "show the program only an iWARP device, which is made where there is none");
  command.option("--device", options->device, "show the program only this device").excludes(iwarp);
  command
      .option(
          "--host", options->host,
          "run the program on this host of an emulated InfiniBand fabric: HOST or FABRIC/HOST; see `softrnic "
          "fabric`")
      .excludes(iwarp);
  command.flag("--crc", options->crc, "with --iwarp: a device that asks its peers for CRCs").needs(iwarp);
  command
      .option(
          "--sysfs", options->sysfs,
          "how the program finds the devices under /sys and /dev: preload (a library), namespace (mounts; "
          "reaches programs in Go and static ones), none, or auto, which looks at the program")
      .one_of({"auto", "preload", "namespace", "none"});
  command.flag("--no-sysfs", options->no_sysfs, "the same as --sysfs none");
  command.footer(
      "Examples:\n"
      "  softrnic run -- ibv_devinfo -v\n"
      "  softrnic run -- ibstatus\n"
      "  softrnic run --iwarp -- rping -s\n"
      "  softrnic run --explain -- ib_send_bw 192.0.2.7\n"
      "  softrnic run --faults drop=1%,seed=7 --capture /tmp/a.pcapng -- ibv_rc_pingpong -g 0");
  command.finally([&context, options] {
    set_when_given("SOFTRNIC_HOST",
                   options->host);  // before settings() are read: this command asks that host, too
    context.chosen = [&context, options] {
      options->program = context.program;
      return run(*options);
    };
  });
}

void add_shell(const grammar::Command& softrnic, Context& context) {
  auto host = std::make_shared<std::string>();
  const grammar::Command command =
      softrnic.command("shell", "Start a shell on a host of an emulated InfiniBand fabric: shell HOST");
  command.option("host", *host, "HOST, or FABRIC/HOST").required();
  command.footer(
      "Examples:\n"
      "  softrnic shell host1\n"
      "  echo ibstat | softrnic shell torus/host1\n"
      "It is the shell that SHELL names, with what `softrnic run --host HOST` gives a program. All that it "
      "starts\n"
      "is on that host; SOFTRNIC_HOST has its name, for prompts. The exit code is the shell's.");
  command.finally([&context, host] {
    setenv("SOFTRNIC_HOST", host->c_str(), 1);  // before settings() are read
    context.chosen = [host] { return run_shell(*host); };
  });
}

}  // namespace softrnic::cli
