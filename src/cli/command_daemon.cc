// daemon, env and version: about softrnic itself.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/settings.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "control/spawn.h"

namespace softrnic::cli {
namespace {

struct DaemonOptions {
  bool stop = false, status = false, foreground = false;
  unsigned idle = 0;
};

int run_foreground(unsigned idle) {
  std::string path = control::find_daemon();
  if (path.empty()) {
    complain("softrnicd is not where it belongs; is softrnic installed completely?");
    return kCannotRun;
  }
  std::string words[] = {path, "--idle", std::to_string(idle)};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  execv(path.c_str(), arguments);
  complain(fmt::format("{}: {}", path, std::strerror(errno)));
  return kCannotRun;
}

int not_running(bool json) {
  if (json) {
    print_json({{"running", false}});
  } else {
    print_line("softrnicd does not run; the first program that opens a device starts it");
  }
  return kFailed;
}

int show_status(bool json) {
  bool failed = false;
  const auto client = connect_daemon(false, failed);
  if (!client) return failed ? static_cast<int>(kFailed) : not_running(json);
  const auto s = client->status();
  if (!s) return report(s.error());
  const std::uint32_t others = s->clients - 1;  // not this command
  if (json) {
    print_json({{"running", true},
                {"pid", s->pid},
                {"all_users", s->all_users != 0},
                {"user", s->user},
                {"clients", others},
                {"lanes_used", s->lanes_used},
                {"dead_processes_remembered", s->dead_pages},
                {"bad_messages", s->bad_messages},
                {"idle_seconds", s->idle_seconds},
                {"receive_buffer_bytes", s->receive_buffer}});
  } else {
    print_line("softrnicd pid {} of {} clients {} lanes {} idle-timeout {} receive-buffer {}", s->pid,
               s->all_users != 0 ? std::string("all-users") : fmt::format("user {}", s->user), others,
               s->lanes_used, s->idle_seconds == 0 ? "none" : fmt::format("{}s", s->idle_seconds),
               s->receive_buffer);
  }
  return kDone;
}

int stop(bool json) {
  bool failed = false;
  const auto client = connect_daemon(false, failed);
  if (!client) return failed ? static_cast<int>(kFailed) : not_running(json);
  const auto done = client->shutdown();
  return done ? kDone : report(done.error());
}

int show_settings(bool json) {
  Json rows = Json::array();
  for (const SettingInfo& setting : setting_table()) {
    const std::string name(setting.name);
    const char* value = std::getenv(name.c_str());
    if (json) {
      Json row = {{"name", name}, {"default", setting.default_value}, {"help", setting.help}};
      row["value"] = value != nullptr ? Json(value) : Json();
      rows.push_back(row);
      continue;
    }
    print_line("{}{}", strong(name), value != nullptr ? "=" + printable(value) : "");
    print_line("    {}{}", setting.help,
               setting.default_value.empty() ? "" : fmt::format(" (default {})", setting.default_value));
  }
  if (json) print_json(rows);
  return kDone;
}

int show_version(bool json) {
  if (json) {
    print_json({{"version", SOFTRNIC_VERSION}, {"protocol", control::kProtocolVersion}});
  } else {
    print_line("softrnic {}", SOFTRNIC_VERSION);
  }
  return kDone;
}

}  // namespace

void add_daemon(const grammar::Command& softrnic, Context& context) {
  auto options = std::make_shared<DaemonOptions>();
  const grammar::Command command = softrnic.command("daemon", "Run, end or look at softrnicd");
  grammar::Option foreground = command.flag("--foreground", options->foreground, "run it here (default)");
  grammar::Option stopping = command.flag("--stop", options->stop, "end it");
  grammar::Option status =
      command.flag("--status", options->status, "how it is doing; exit code 1 when it does not run");
  command
      .option("--idle", options->idle,
              "with --foreground: end after this many seconds without a client; 0: never")
      .shows_default();
  stopping.excludes(foreground).excludes(status);
  status.excludes(foreground);
  command.footer("Examples:\n  softrnic daemon\n  softrnic daemon --status --json\n  softrnic daemon --stop");
  command.finally([&context, options] {
    context.chosen = [&context, options] {
      if (options->stop) return stop(context.json);
      if (options->status) return show_status(context.json);
      return run_foreground(options->idle);
    };
  });
}

void add_env(const grammar::Command& softrnic, Context& context) {
  const grammar::Command command =
      softrnic.command("env", "Show the environment variables that softrnic knows");
  command.footer("Examples:\n  softrnic env\n  softrnic env --json");
  command.finally([&context] { context.chosen = [&context] { return show_settings(context.json); }; });
}

void add_version(const grammar::Command& softrnic, Context& context) {
  softrnic.command("version", "Show the version").finally([&context] {
    context.chosen = [&context] { return show_version(context.json); };
  });
}

}  // namespace softrnic::cli
