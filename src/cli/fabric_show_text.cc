#include "cli/fabric_show_text.h"

#include <string_view>
#include <vector>

#include "cli/text_table.h"

namespace softrnic::cli {
namespace {

std::string cell(const char* before, const std::string& text) {
  return text.empty() ? "" : printable(before + text);
}

std::string trouble_of(const Json& port) {
  if (is_true(port, "pulled")) return "pulled";
  if (text_of(port, "physical_state") == "disabled") return "disabled";
  const double damaged = number_of(port, "damaged_part");
  return damaged > 0 ? fmt::format("damages {:g} of its packets", damaged) : "";
}

TableRow port_row(const Json& port) {
  TableRow row = {fmt::format("{:>3}", printable(text_of(port, "port"))),
                  cell("LID ", text_of(port, "lid")),
                  printable(text_of(port, "address")),
                  printable(text_of(port, "state")),
                  link_text(port),
                  peer_text(port)};
  const Json& load = value_of(port, "load");
  if (load.is_null()) return row;
  row.push_back("out " + percent_text(number_of(load, "out")));
  row.push_back("in " + percent_text(number_of(load, "in")));
  row.push_back(trouble_of(port));
  return row;
}

bool is_idle(const Json& vl) { return number_of(vl, "queued") == 0 && number_of(vl, "waiting") == 0; }

/// One line for the lanes that are alike because nothing is in them.
std::string idle_text(const std::vector<std::string>& vls) {
  std::string text;
  for (const std::string& vl : vls) text += (text.empty() ? "" : ",") + vl;
  return "VL " + printable(text) + ": empty";
}

std::string queue_text(const Json& vl) {
  std::string text =
      fmt::format("VL {}: queued {} packets, {} of {} blocks", text_of(vl, "vl"), text_of(vl, "queued"),
                  text_of(vl, "queued_blocks"), text_of(vl, "buffer_blocks"));
  if (number_of(vl, "waiting") != 0)
    text += fmt::format("; waiting to leave {}, the first for {:.3f} s {} credits ({})",
                        text_of(vl, "waiting"), number_of(vl, "waited_seconds"),
                        is_true(vl, "has_credits") ? "with" : "without", text_of(vl, "credits"));
  return printable(text);
}

std::string lanes_text(const Json& vls) {
  std::string text;
  std::vector<std::string> idle;
  for (const Json& vl : vls.elements()) {
    if (is_idle(vl)) idle.push_back(text_of(vl, "vl"));
    if (!is_idle(vl)) text += "        " + queue_text(vl) + "\n";
  }
  if (!idle.empty()) text += "        " + idle_text(idle) + "\n";
  return text;
}

bool is_shown(const Json& port) { return port.find("peer") != nullptr || port.find("lid") != nullptr; }

/// Cuts off its first line.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end == std::string_view::npos ? end : end + 1);
  text.remove_prefix(line.size());
  return line;
}

}  // namespace

std::string percent_text(double part) {
  const double percent = part * 100;
  if (percent > 0 && percent < 0.1) return "<0.1%";
  return percent == 0 || percent >= 9.95 ? fmt::format("{:.0f}%", percent) : fmt::format("{:.1f}%", percent);
}

std::string fabric_text(const Json& fabric) {
  const Json& nodes = value_of(fabric, "nodes");
  std::vector<TableRow> rows;
  for (const Json& node : nodes.elements())
    for (const Json& port : value_of(node, "ports").elements())
      if (is_shown(port)) rows.push_back(port_row(port));
  const std::string table = text_table(rows, 2);
  std::string_view lines = table;
  std::string text;
  for (const Json& node : nodes.elements()) {
    text += fmt::format("{}  {}  GUID {}\n", strong(text_of(node, "name")), printable(text_of(node, "type")),
                        printable(text_of(node, "guid")));
    for (const Json& port : value_of(node, "ports").elements()) {
      if (!is_shown(port)) continue;
      text += next_line(lines);
      if (const Json* const vls = port.find("vls")) text += lanes_text(*vls);
    }
  }
  return text + fmt::format("out, in: parts of the link's rate, in the last {:.1f} s\n",
                            number_of(fabric, "load_seconds"));
}

}  // namespace softrnic::cli
