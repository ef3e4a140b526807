#include "cli/fabric_path_text.h"

#include <cstdint>
#include <span>

#include "cli/text_table.h"

namespace softrnic::cli {
namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : printable(text); }

/// Of a row that has an out_port: none is known for SLs that no VL is for.
std::string vl_text(const Json& row) {
  if (text_of(row, "out_port").empty()) return "-";
  const std::string vl = text_of(row, "vl");
  return vl.empty() ? "dropped" : "VL " + printable(vl);
}

TableRow hop_row(const Json& hop) {
  return {printable(text_of(hop, "node")),
          or_dash(text_of(hop, "in_port")),
          or_dash(text_of(hop, "lft")),
          or_dash(text_of(hop, "out_port")),
          vl_text(hop),
          or_dash(link_text(hop)),
          or_dash(text_of(hop, "state")),
          or_dash(peer_text(hop))};
}

std::string ending(const Json& trace) {
  const std::span<const Json> hops = value_of(trace, "hops").elements();
  const std::string outcome = text_of(trace, "outcome");
  if (outcome == "reached" && hops.empty()) return "reached: it does not leave the port\n";
  if (outcome == "reached")
    return fmt::format("reached over {} {}\n", hops.size(), hops.size() == 1 ? "link" : "links");
  if (hops.empty()) return printable(outcome) + "\n";
  const Json& last = hops.back();
  const std::string where = text_of(last, "node");
  return printable(fmt::format("not reached: {} {}", outcome,
                               outcome == "no VL" ? "for this SL on the way" : "at " + where)) +
         "\n";
}

std::string branch_line(const Json& branch, const std::string& indent) {
  const std::string out = text_of(branch, "out_port");
  if (out == "0") return indent + "port 0: itself\n";
  std::string line = fmt::format("{}port {}, {}", indent, printable(out), vl_text(branch));
  const std::string peer = peer_text(branch);
  line += peer.empty() ? ": no cable" : " -> " + peer;
  if (const std::string state = text_of(branch, "state"); !state.empty() && state != "active")
    line += printable(" (" + state + ")");
  return line + "\n";
}

std::string stop_text(const Json& stop, const std::string& lid) {
  const std::string indent(static_cast<std::size_t>(number_of(stop, "links")) * 2, ' ');
  std::string line = indent + strong(text_of(stop, "node"));
  if (const std::string in = text_of(stop, "in_port"); !in.empty()) line += printable(", in by port " + in);
  if (is_true(stop, "comes_again")) return line + ": once more, a loop\n";
  const bool is_switch = text_of(stop, "type") == "switch";
  if (!is_switch && is_true(stop, "is_member")) return line + ": reached\n";
  const Json& branches = value_of(stop, "branches");
  if (is_switch) {
    std::string ports;
    for (const Json& branch : branches.elements()) ports += " " + printable(text_of(branch, "out_port"));
    line += fmt::format(", MFT[{}] ={}", printable(lid), ports.empty() ? " -" : ports);
  }
  line += "\n";
  for (const Json& branch : branches.elements()) line += branch_line(branch, indent + "  ");
  return line;
}

}  // namespace

std::string path_table(const Json& way, std::size_t indent) {
  const std::string lid = text_of(value_of(way, "to"), "lid");
  std::vector<TableRow> rows = {{"node", "in", printable(fmt::format("LFT[{}]", lid)), "out",
                                 printable("SL " + text_of(way, "sl")), "link", "state", "to"}};
  for (const Json& hop : value_of(way, "hops").elements()) rows.push_back(hop_row(hop));
  return text_table(rows, indent);
}

std::string path_text(const Json& trace) {
  return fmt::format("{} -> {}\n", endport_text(value_of(trace, "from")),
                     endport_text(value_of(trace, "to"))) +
         (value_of(trace, "hops").elements().empty() ? "" : path_table(trace, 2)) + ending(trace);
}

std::string multicast_text(const Json& trace) {
  const auto number = static_cast<std::uint32_t>(number_of(value_of(trace, "to"), "multicast_lid"));
  const std::string lid = fmt::format("{:#x}", number);
  std::string text = fmt::format("{} -> multicast LID {}, {}\n", endport_text(value_of(trace, "from")), lid,
                                 printable("SL " + text_of(trace, "sl")));
  for (const Json& stop : value_of(trace, "stops").elements()) text += stop_text(stop, lid);
  const std::string outcome = text_of(trace, "outcome");
  const std::string members = text_of(trace, "members");
  return text +
         printable(outcome == "reached" ? "members reached: " + members
                                        : fmt::format("{}; members reached: {}", outcome, members)) +
         "\n";
}

}  // namespace softrnic::cli
