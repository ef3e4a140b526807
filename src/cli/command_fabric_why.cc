// fabric why: why two ports of a fabric cannot talk.
#include <charconv>

#include "cli/fabric_path_text.h"
#include "cli/fabric_views.h"
#include "control/fabric_folder.h"

namespace softrnic::cli {
namespace {

struct WhyOptions {
  std::string fabric{control::kDefaultFabric};
  std::string a, b;
  std::string p_key;
  unsigned sl = 0;
};

/// In decimal, as the fabric's process reads it; empty: it is no P_Key.
std::string decimal(std::string text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.erase(0, 2);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::to_string(number) : "";
}

std::string heading(const Json& answer, bool can_talk) {
  const std::string ends =
      fmt::format("{} and {}", endport_text(value_of(answer, "a")), endport_text(value_of(answer, "b")));
  const bool is_clear = value_of(answer, "obstacles").elements().empty();
  if (!can_talk) return ends + " cannot talk:";
  return is_clear ? "nothing stands in the way between " + ends : ends + " can talk, but:";
}

void print_ways(const Json& answer) {
  const std::string there = text_of(answer, "p_key_of_a"), back = text_of(answer, "p_key_of_b");
  if (!there.empty())
    print_line("  P_Key {}{}", printable(there), there == back ? "" : printable(", and back " + back));
  for (const char* const way : {"there", "back"}) fmt::print("{}", path_table(value_of(answer, way), 2));
}

int why(const WhyOptions& options, bool json) {
  std::string command = fmt::format("why\t{}\t{}\t{}", options.a, options.b, options.sl);
  if (!options.p_key.empty()) {
    const std::string p_key = decimal(options.p_key);
    if (p_key.empty()) return complain(options.p_key + " is no P_Key; 0x8001 is"), kUsage;
    command += "\t" + p_key;
  }
  const auto answer = ask_fabric_json(options.fabric, command);
  if (!answer) return kFailed;
  const bool can_talk = is_true(*answer, "can_talk");
  if (json) return print_json(*answer), can_talk ? kDone : kFailed;
  print_line("{}", heading(*answer, can_talk));
  for (const Json& obstacle : value_of(*answer, "obstacles").elements()) {
    const std::string seen = text_of(obstacle, "seen");
    print_line("  {}", is_true(obstacle, "blocks") ? strong(seen) : printable(seen));
    print_line("    cure: {}", printable(text_of(obstacle, "cure")));
  }
  if (can_talk) print_ways(*answer);
  return can_talk ? kDone : kFailed;
}

}  // namespace

void add_fabric_why(const grammar::Command& fabric, Context& context) {
  auto options = std::make_shared<WhyOptions>();
  const grammar::Command command =
      fabric.command("why", "Tell why two ports cannot talk, and the cure: why A B");
  command.option("a", options->a, "a node, NODE/PORT, a LID or a GUID").required();
  command.option("b", options->b, "the other one").required();
  command.option("--p-key", options->p_key, "in this partition; by default any that they share");
  command.option("--sl", options->sl, "with this service level").within(0, 15);
  command.option("--name", options->fabric, "name of the fabric").shows_default();
  command.footer(
      "Examples:\n"
      "  softrnic fabric why host1 host4\n"
      "  softrnic fabric why host1 host4 --p-key 0x8001 --sl 1\n"
      "It looks at ports, cables, partitions, forwarding tables, virtual lanes and credits on the ways there "
      "and\n"
      "back, and sends nothing. With --json: can_talk; obstacles: id, blocks, node, port, seen, cure; the "
      "ways\n"
      "there and back. The ids stay as they are; the sentences may change.\n"
      "Exit codes: 0 they can talk, 1 they cannot, 2 usage.");
  command.finally(
      [&context, options] { context.chosen = [&context, options] { return why(*options, context.json); }; });
}

}  // namespace softrnic::cli
