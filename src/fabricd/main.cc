// softrnic-fabricd: the process of one emulated InfiniBand fabric.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "control/error.h"
#include "control/fabric_folder.h"
#include "fabric/topology_file.h"
#include "fabric/topology_shapes.h"
#include "fabricd/manager_setup.h"
#include "fabricd/opensm.h"
#include "fabricd/options.h"
#include "fabricd/server.h"

namespace softrnic::fabricd {
namespace {

/// Each host has a few descriptors.
void raise_limits() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Expected<fabric::Topology, std::string> read_file(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return Unexpected{text.error()};
  auto topology = fabric::read_topology(*text);
  if (topology) return std::move(*topology);
  return Unexpected{path + ": " + fabric::to_string(topology.error())};
}

Expected<void, std::string> open(Server& server, const Options& options) {
  if (!control::valid_fabric_name(options.name)) return Unexpected{options.name + " is no name for a fabric"};
  auto topology = options.file.empty() ? fabric::make_topology(options.topology) : read_file(options.file);
  if (!topology) return Unexpected{topology.error()};
  const auto folder = control::fabrics_folder(true);
  if (!folder) return Unexpected{control::make_error(folder.error()).text};
  FabricOptions wanted;
  wanted.name = options.name;
  wanted.pace.scale = options.scale;
  wanted.has_manager = options.manager == "embedded";
  if (options.manager == "opensm") wanted.log_file = opensm_log(*folder + "/" + options.name);
  if (wanted.has_manager) {
    auto manager = manager_options(options);
    if (!manager) return Unexpected{manager.error()};
    wanted.manager = std::move(*manager);
  }
  return server.open(*folder, std::move(*topology), std::move(wanted));
}

/// What went wrong, or nothing, for the program that waits for this start.
void tell(int report_fd, const std::string& text) {
  if (report_fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(report_fd, text.data(), text.size());
  close(report_fd);
}

/// On the first host, where people begin.
Expected<void, std::string> start_opensm(OpenSm& opensm, const Server& server, const Options& options) {
  for (const fabric::Node& node : server.fabric().topology().nodes())
    if (node.type == fabric::NodeType::channel_adapter)
      return opensm.start(options, options.name + "/" + node.name, server.folder());
  return Unexpected{std::string("opensm needs a host, and there is none")};
}

int serve(const Options& options) {
  Server server;
  OpenSm opensm;  // ends before the fabric does
  auto opened = open(server, options);
  if (opened && options.manager == "opensm") opened = start_opensm(opensm, server, options);
  tell(options.report_fd, opened ? std::string() : opened.error());
  const bool foreground = options.report_fd < 0;
  if (!opened && foreground) fmt::print(stderr, "softrnic-fabricd: {}\n", opened.error());
  if (!opened) return 1;
  if (foreground)
    fmt::print(stderr, "softrnic-fabricd: fabric {} is up, process {}; end it with Ctrl-C\n", options.name,
               getpid());
  return server.run() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace softrnic::fabricd

int main(int argc, char** argv) {
  softrnic::fabricd::Options options;
  const auto grammar = softrnic::fabricd::make_grammar(options);
  if (const auto trouble = grammar.parse(std::vector<std::string>(argv + 1, argv + argc))) {
    if (trouble->wants_help) fmt::print("{}", grammar.help());
    if (!trouble->wants_help) fmt::print(stderr, "softrnic-fabricd: {}; try --help\n", trouble->text);
    return trouble->wants_help ? 0 : 2;
  }
  signal(SIGPIPE, SIG_IGN);
  if (options.report_fd >= 0) fcntl(options.report_fd, F_SETFD, FD_CLOEXEC);
  softrnic::fabricd::raise_limits();
  return softrnic::fabricd::serve(options);
}
