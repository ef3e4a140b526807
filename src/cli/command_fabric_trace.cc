// fabric trace: the way of packets from one port to another.
#include "cli/fabric_path_text.h"
#include "cli/fabric_views.h"
#include "control/fabric_folder.h"

namespace softrnic::cli {
namespace {

struct TraceOptions {
  std::string fabric{control::kDefaultFabric};
  std::string from, to;
  unsigned sl = 0;
};

int trace(const TraceOptions& options, bool json) {
  const auto answer =
      ask_fabric_json(options.fabric, fmt::format("trace\t{}\t{}\t{}", options.from, options.to, options.sl));
  if (!answer) return kFailed;
  if (json) {
    print_json(*answer);
  } else if (answer->find("stops") != nullptr) {
    fmt::print("{}", multicast_text(*answer));
  } else {
    fmt::print("{}", path_text(*answer));
  }
  return text_of(*answer, "outcome") == "reached" ? kDone : kFailed;
}

}  // namespace

void add_fabric_trace(const grammar::Command& fabric, Context& context) {
  auto options = std::make_shared<TraceOptions>();
  const grammar::Command command =
      fabric.command("trace", "Show the way of packets, and the tables that decide at each hop: trace A B");
  command.option("from", options->from, "where they begin: a node, NODE/PORT, a LID or a GUID").required();
  command.option("to", options->to, "where they go: the same, or a multicast LID").required();
  command.option("--sl", options->sl, "service level of the packets").within(0, 15);
  command.option("--name", options->fabric, "name of the fabric").shows_default();
  command.footer(
      "Examples:\n"
      "  softrnic fabric trace host1 host4\n"
      "  softrnic fabric trace host1/2 7 --sl 1\n"
      "  softrnic fabric trace host1 0xc000\n"
      "Nothing is sent: it reads what ports and switches are set to now. LFT[LID] is the entry of the "
      "switch's\n"
      "linear forwarding table, and under the service level stands the virtual lane that the table of the\n"
      "output port maps it to. Exit codes: 0 reached, 1 not reached.");
  command.finally([&context, options] {
    context.chosen = [&context, options] { return trace(*options, context.json); };
  });
}

}  // namespace softrnic::cli
