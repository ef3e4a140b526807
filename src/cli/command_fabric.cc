// fabric: emulated InfiniBand fabrics.
#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/argument_pointers.h"
#include "base/unique_fd.h"
#include "base/unique_file.h"
#include "cli/commands.h"
#include "cli/fabric_answer.h"
#include "cli/fabric_cable.h"
#include "cli/fabric_views.h"
#include "cli/output.h"
#include "control/fabric_commands.h"
#include "control/fabric_folder.h"
#include "control/path_socket.h"
#include "control/spawn.h"
#include "fabric/topology_shapes.h"

namespace softrnic::cli {
namespace {

struct FabricOptions {
  std::string name{control::kDefaultFabric};
  std::string topology;
  std::string file;
  std::string manager = "embedded";
  std::string routing;
  std::string partitions;
  std::string configuration;
  double scale = 0;
  FabricCableOptions cable;
  bool foreground = false;
  std::vector<std::string> words;
};

/// softrnic-fabricd is where softrnicd is.
std::string find_fabricd() {
  const std::string daemon = control::find_daemon();
  const std::size_t slash = daemon.rfind('/');
  const std::string path =
      (slash == std::string::npos ? std::string() : daemon.substr(0, slash + 1)) + "softrnic-fabricd";
  return access(path.c_str(), X_OK) == 0 ? path : std::string();
}

std::vector<std::string> command_line(const std::string& path, const FabricOptions& options,
                                      const FabricCable& cable, int report_fd) {
  std::vector<std::string> words = {
      path, "--name", options.name, "--sm", options.manager, "--scale", fmt::format("{}", options.scale)};
  const auto add = [&words](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--topology", options.topology);
  add("--file", options.file);
  add("--routing", options.routing);
  add("--partitions", options.partitions);
  add("--config", options.configuration);
  words.insert(words.end(), cable.words.begin(), cable.words.end());
  if (report_fd >= 0) add("--report-fd", std::to_string(report_fd));
  return words;
}

[[noreturn]] void become(const std::vector<std::string>& words) {
  const std::vector<char*> arguments = argument_pointers(words);
  execv(arguments[0], arguments.data());
  _exit(kCannotRun);
}

/// In a session of its own, with nothing of this terminal.
[[noreturn]] void become_background(const std::vector<std::string>& words) {
  setsid();
  const int null = open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, standard);
  if (fork() != 0) _exit(0);
  become(words);
}

/// What the new process says: nothing is good.
std::string wait_for(const UniqueFd& report) {
  std::string text;
  char part[512];
  for (ssize_t size = 0; (size = read(report.get(), part, sizeof part)) != 0;) {
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    text.append(part, static_cast<std::size_t>(size));
  }
  return text;
}

int bring_up(const FabricOptions& options) {
  const std::string path = find_fabricd();
  if (path.empty()) {
    complain("softrnic-fabricd is not where it belongs; is softrnic installed completely?");
    return kCannotRun;
  }
  const auto cable = prepare_cable(options.cable);
  if (!cable) return cable.error();
  std::fflush(stdout);
  if (options.foreground) become(command_line(path, options, *cable, -1));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    complain(std::strerror(errno));
    return kCannotRun;
  }
  const UniqueFd report(ends[0]);
  UniqueFd reports(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    fcntl(reports.get(), F_SETFD, 0);
    become_background(command_line(path, options, *cable, reports.get()));
  }
  reports.reset();
  int status = 0;
  waitpid(child, &status, 0);
  const std::string trouble = wait_for(report);
  if (!trouble.empty()) {
    complain(trouble);
    return kFailed;
  }
  return control::ask_fabric(options.name, "show") ? kDone : (complain("the fabric did not start"), kFailed);
}

int tell(const FabricOptions& options, const std::string& command) {
  const auto answer = control::ask_fabric(options.name, command);
  return answer ? static_cast<int>(kDone) : report(answer.error());
}

/// Returns when its process is gone, so that its name is free.
int down(const FabricOptions& options) {
  const int done = tell(options, "down");
  const auto folder = control::fabrics_folder(false);
  if (done == kDone && folder) control::FabricFolder::wait_until_left(*folder, options.name);
  return done;
}

int show_log(const FabricOptions& options, bool json) {
  const auto lines = ask_fabric_json(options.name, "log");
  if (!lines) return kFailed;
  if (json) return print_json(*lines), kDone;
  for (const Json& line : lines->elements()) print_line("{}", printable(line.string()));
  return kDone;
}

/// Names of the fabrics that are up.
std::vector<std::string> running() {
  std::vector<std::string> names;
  const auto folder = control::fabrics_folder(false);
  const UniqueDirectory entries{folder ? opendir(folder->c_str()) : nullptr};
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (control::valid_fabric_name(name) && control::reach_path(control::command_socket(*folder, name)))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

int list(bool json) {
  const std::vector<std::string> names = running();
  if (json) return print_json(Json::array_of(names)), kDone;
  for (const std::string& name : names) print_line("{}", strong(name));
  return kDone;
}

std::string join(const char* first, const std::vector<std::string>& words) {
  std::string line = first;
  for (const std::string& word : words) line += "\t" + word;  // names may have spaces
  return line;
}

std::string shapes_text() {
  std::string text = "Shapes:\n";
  for (const fabric::Shape& shape : fabric::topology_shapes())
    text += fmt::format("  {:<44} {}\n", shape.syntax, shape.sentence);
  for (const fabric::ShapeOption& option : fabric::common_shape_options())
    text += fmt::format("  {:<44} {}\n", option.syntax, option.sentence);
  return text +
         "Examples:\n"
         "  softrnic fabric up\n"
         "  softrnic fabric up fat-tree:k=4\n"
         "  softrnic fabric up torus:4x4,speed=HDR --routing updn --name torus\n"
         "  softrnic fabric up ring:6 --sm opensm --routing lash\n"
         "  softrnic fabric up torus:3x4 --sm opensm --routing torus-2QoS\n"
         "  softrnic fabric up --file my.net --partitions partitions.conf\n"
         "  softrnic fabric up --listen 192.0.2.1 --token-file token";
}

using SharedOptions = std::shared_ptr<FabricOptions>;

void name_option(const grammar::Command& command, const SharedOptions& options) {
  command.option("--name", options->name, "name of the fabric").shows_default();
}

void add_up(const grammar::Command& fabric, Context& context) {
  auto options = std::make_shared<FabricOptions>();
  const grammar::Command up = fabric.command("up", "Start a fabric: up [TOPOLOGY]");
  up.option("topology", options->topology,
            "shape of the fabric; 4 hosts, 2 leaf switches and a spine by default");
  up.option("--file", options->file, "topology in a net file of ibsim, or the output of ibnetdiscover");
  name_option(up, options);
  up.option("--sm", options->manager,
            "subnet manager: embedded, opensm: the program of that name on the first host, or none: you "
            "start one")
      .one_of({"embedded", "opensm", "none"});
  up.option("--routing", options->routing,
            "routing engine: minhop, updn, dor or ftree; with opensm whatever it has");
  up.option("--partitions", options->partitions,
            "partitions, a file in the form of opensm's partitions.conf");
  up.option("--config", options->configuration,
            "settings of the manager such as QoS, a file in the form of opensm.conf");
  up.option("--scale", options->scale,
            "part of the rate that width and speed of a link mean, 0.001 for one thousandth; 0: as fast as "
            "possible");
  up.option(
      "--listen", options->cable.listen,
      "ADDRESS[:PORT] where other fabrics may join by a cable, at 8 spare ports of the last switch, or the "
      "free ones of the file");
  up.option("--token-file", options->cable.token_file,
            "file with the token for them in its first line; without it one is made and told");
  up.flag("--foreground", options->foreground, "run it here");
  up.footer(shapes_text());
  up.finally([&context, options] { context.chosen = [options] { return bring_up(*options); }; });
}

void add_join(const grammar::Command& fabric, Context& context) {
  auto options = std::make_shared<FabricOptions>();
  options->manager = "none";
  const grammar::Command join =
      fabric.command("join", "Start a fabric with a cable to one elsewhere: join ADDRESS[:PORT] [TOPOLOGY]");
  join.option("address", options->cable.join, "where the other fabric listens, ADDRESS[:PORT]").required();
  join.option("topology", options->topology, "shape of this fabric; 2 hosts and a switch by default");
  join.option("--file", options->file, "topology in a net file of ibsim, or the output of ibnetdiscover");
  name_option(join, options);
  join.option("--token-file", options->cable.token_file, "file with the token in its first line");
  join.option("--scale", options->scale, "as of `softrnic fabric up`");
  join.flag("--foreground", options->foreground, "run it here");
  join.footer(
      "The subnet manager of the other fabric manages this one, too. Names begin with b- for the first that\n"
      "joins, c- for the next and so on.\n"
      "Examples:\n"
      "  softrnic fabric up --listen 192.0.2.1 --token-file token            on the one host\n"
      "  softrnic fabric join 192.0.2.1 --token-file token                   on the other\n"
      "  softrnic fabric join 192.0.2.1 ring:4 --name ring --token-file token\n"
      "  softrnic run --host b-host1 -- ibnetdiscover\n"
      "What goes over the cable is not encrypted: use a network that you trust.");
  join.finally([&context, options] { context.chosen = [options] { return bring_up(*options); }; });
}

template <typename Act>
void add_plain(const grammar::Command& fabric, Context& context, const char* name, const char* help,
               Act act) {
  auto options = std::make_shared<FabricOptions>();
  const grammar::Command command = fabric.command(name, help);
  name_option(command, options);
  command.finally([&context, options, act] {
    context.chosen = [&context, options, act] { return act(*options, context.json); };
  });
}

void add_change(const grammar::Command& fabric, Context& context, const char* name, const char* help,
                const char* words, const char* example) {
  auto options = std::make_shared<FabricOptions>();
  const grammar::Command command = fabric.command(name, help);
  name_option(command, options);
  command.option("words", options->words, words).required();
  command.footer(example);
  command.finally([&context, options, name] {
    context.chosen = [options, name] { return tell(*options, join(name, options->words)); };
  });
}

}  // namespace

void add_fabric(const grammar::Command& softrnic, Context& context) {
  const grammar::Command fabric =
      softrnic.command("fabric", "Emulated InfiniBand fabrics: switches, cables, hosts and a subnet manager");
  fabric.takes_commands(1, 1);
  add_up(fabric, context);
  add_join(fabric, context);
  add_plain(fabric, context, "down", "End a fabric",
            [](const FabricOptions& options, bool) { return down(options); });
  add_fabric_show(fabric, context);
  add_fabric_trace(fabric, context);
  add_fabric_why(fabric, context);
  add_plain(fabric, context, "log", "Show what the embedded subnet manager has told", show_log);
  fabric.command("list", "Show which fabrics are up").finally([&context] {
    context.chosen = [&context] { return list(context.json); };
  });
  add_change(fabric, context, "link", "Change a cable: link NODE PORT up|down|degrade RATE|errors PART",
             "NODE PORT, and what: up, down, degrade RATE, errors PART",
             "Examples:\n  softrnic fabric link leaf1 3 down\n  softrnic fabric link leaf1 3 degrade 1xSDR\n"
             "  softrnic fabric link leaf1 3 errors 0.001");
  add_change(fabric, context, "node", "Switch a node off or on: node NODE kill|restart",
             "NODE, and what: kill, restart", "Examples:\n  softrnic fabric node spine1 kill");
}

}  // namespace softrnic::cli
