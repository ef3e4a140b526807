// softrnic-fabricd: the process of one emulated InfiniBand fabric.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control/error.h"
#include "control/fabric_folder.h"
#include "fabric/joined_topology.h"
#include "fabric/topology_file.h"
#include "fabric/topology_shapes.h"
#include "fabricd/emulated_fabric.h"
#include "fabricd/joiner.h"
#include "fabricd/manager_setup.h"
#include "fabricd/opensm.h"
#include "fabricd/options.h"
#include "fabricd/server.h"

namespace softrnic::fabricd {
namespace {

constexpr std::size_t kMostToken = 4096;

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

/// What has no ports for cables to other fabrics gets some, unless the file says what there is.
constexpr std::size_t kSparePorts = 8;
constexpr std::string_view kJoinedShape = "star:2";

/// How many cables to other fabrics there can be at most.
std::size_t spare_ports_of(const Options& options) {
  if (!options.join.empty()) return 1;
  if (options.listen.empty()) return 0;
  return options.file.empty() ? kSparePorts : fabric::kMostJoinedFabrics;
}

Expected<fabric::Topology, std::string> topology_for(const Options& options, std::uint8_t index) {
  const bool joins = !options.join.empty();
  const std::string_view shape = joins && options.topology.empty() ? kJoinedShape : options.topology;
  auto topology = options.file.empty() ? fabric::make_topology(shape) : read_file(options.file);
  if (!topology) return topology;
  if (joins) topology = fabric::as_joined(*topology, index);
  const std::size_t spare = spare_ports_of(options);
  if (!topology || spare == 0) return topology;
  if (options.file.empty()) return fabric::with_spare_ports(*topology, spare);
  if (fabric::free_switch_ports(*topology, 1).empty())
    return Unexpected{options.file + " has no free port at a switch for a cable to another fabric"};
  return topology;
}

/// The first line of the file.
Expected<std::string, std::string> read_token(int fd) {
  std::string text(kMostToken, '\0');
  const ssize_t got = fd < 0 ? -1 : pread(fd, text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  text.resize(std::min(text.find('\n'), text.size()));
  if (text.empty()) return Unexpected{std::string("there is no token")};
  return text;
}

Expected<void, std::string> open(Server& server, const Options& options) {
  if (!control::valid_fabric_name(options.name)) return Unexpected{options.name + " is no name for a fabric"};
  const bool joins = !options.join.empty();
  std::string token;
  std::unique_ptr<Joiner> joiner;
  if (joins || !options.listen.empty()) {
    auto read = read_token(options.token_fd);
    if (!read) return Unexpected{read.error()};
    token = std::move(*read);
  }
  if (joins) {
    auto joined = Joiner::join(options.join, options.port, token);
    if (!joined) return Unexpected{joined.error()};
    joiner = std::move(*joined);
  }
  auto topology = topology_for(options, joiner ? joiner->index() : std::uint8_t{0});
  if (!topology) return Unexpected{topology.error()};
  const auto folder = control::fabrics_folder(true);
  if (!folder) return Unexpected{control::make_error(folder.error()).text};
  FabricOptions wanted;
  wanted.name = options.name;
  wanted.pace.scale = options.scale;
  wanted.has_manager = options.manager == "embedded" && !joins;
  if (joins) wanted.index = joiner->index();
  if (const std::size_t spare = spare_ports_of(options))
    wanted.spare_ports = fabric::free_switch_ports(*topology, spare);
  if (options.manager == "opensm") wanted.log_file = opensm_log(*folder + "/" + options.name);
  if (wanted.has_manager) {
    auto manager = manager_options(options);
    if (!manager) return Unexpected{manager.error()};
    wanted.manager = std::move(*manager);
  }
  auto opened = server.open(*folder, std::move(*topology), std::move(wanted));
  if (opened && joins) server.join(std::move(joiner));
  if (opened && !options.listen.empty())
    return server.take_joiners(options.listen, options.port, std::move(token));
  return opened;
}

/// What went wrong, or nothing, for the program that waits for this start.
void tell(int report_fd, const std::string& text) {
  if (report_fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(report_fd, text.data(), text.size());
  close(report_fd);
}

int serve(const Options& options) {
  Server server;
  OpenSm opensm;  // ends before the fabric does
  auto opened = open(server, options);
  if (opened && options.manager == "opensm")
    opened = opensm.start(options, server.fabric().topology(), server.folder());
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
