// fabric show: nodes, ports, links and their load, as text, JSON or a picture.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "cli/fabric_picture.h"
#include "cli/fabric_show_text.h"
#include "cli/fabric_views.h"
#include "cli/stop_signal.h"
#include "control/fabric_folder.h"

namespace softrnic::cli {
namespace {

constexpr int kWatchEvery = 1000;  ///< milliseconds

struct ShowOptions {
  std::string fabric{control::kDefaultFabric};
  std::string picture;
  bool vls = false;
  bool watch = false;
};

std::optional<Json> ask(const ShowOptions& options) {
  return ask_fabric_json(options.fabric, options.vls ? "show\tvl" : "show");
}

void print(const Json& fabric, bool json) {
  if (json) return print_json(fabric);
  fmt::print("{}", fabric_text(fabric));
}

int draw(const Json& fabric, const std::string& path) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << fabric_picture(fabric);
  file.close();
  if (file) return kDone;
  complain(fmt::format("{}: {}", path, std::strerror(errno != 0 ? errno : EIO)));
  return kFailed;
}

/// On a terminal each look takes the place of the one before.
int watch(const ShowOptions& options, bool json) {
  const bool redraws = isatty(STDOUT_FILENO) == 1 && !json;
  pollfd stop{catch_stop_signals(), POLLIN, 0};
  do {
    const auto fabric = ask(options);
    if (!fabric) return kFailed;
    if (redraws) fmt::print("\x1b[H\x1b[2J");
    print(*fabric, json);
    if (std::fflush(stdout) != 0) return kFailed;
  } while (poll(&stop, 1, kWatchEvery) == 0);
  return kDone;
}

int show(const ShowOptions& options, bool json) {
  if (options.watch) return watch(options, json);
  const auto fabric = ask(options);
  if (!fabric) return kFailed;
  if (!options.picture.empty()) return draw(*fabric, options.picture);
  print(*fabric, json);
  return kDone;
}

}  // namespace

void add_fabric_show(const grammar::Command& fabric, Context& context) {
  auto options = std::make_shared<ShowOptions>();
  const grammar::Command command =
      fabric.command("show", "Show nodes, ports, addresses, links and their load");
  command.flag("--vl", options->vls, "virtual lanes of each port, too: what waits, and for how many credits");
  const grammar::Option watch =
      command.flag("--watch", options->watch, "show it anew each second, until Ctrl-C");
  command
      .option("--svg", options->picture,
              "draw a picture into this file: hosts below, links coloured by their load, and what is down or "
              "damaged marked")
      .excludes(watch);
  command.option("--name", options->fabric, "name of the fabric").shows_default();
  command.footer(
      "Examples:\n"
      "  softrnic fabric show\n"
      "  softrnic fabric show --watch --vl\n"
      "  softrnic fabric show --svg fabric.svg\n"
      "Load is the part of the link's rate, each direction by itself, that packets took in the last second "
      "or\n"
      "somewhat more; of a fabric that runs as fast as possible, of what width and speed mean. With --json:\n"
      "nodes, their ports: state, lid, peer, load, bytes_per_second, counters; vls with --vl.");
  command.finally(
      [&context, options] { context.chosen = [&context, options] { return show(*options, context.json); }; });
}

}  // namespace softrnic::cli
