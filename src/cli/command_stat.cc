#include <map>
#include <string>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/processes.h"

namespace softrnic::cli {
namespace {

using control::CounterValues;

Json counters_json(const CounterValues& values) {
  Json out = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i) out[ib::kCounterInfos[i].name] = values[i];
  return out;
}

void print_counters(const CounterValues& values, bool zeros) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (zeros || values[i] != 0) print_line("    {:<26} {:>16}", ib::kCounterInfos[i].name, values[i]);
}

void add(CounterValues& sum, const CounterValues& values) {
  for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}

int describe(bool json) {
  Json rows = Json::object();
  for (const auto& [name, description] : ib::kCounterInfos) {
    rows[name] = description;
    if (!json) print_line("    {:<26} {}", name, description);
  }
  if (json) print_json(rows);
  return kDone;
}

Json counts_json(const std::map<std::string, unsigned>& counts) {
  Json out = Json::object();
  for (const auto& [name, count] : counts) out[name] = count;
  return out;
}

/// How many queue pairs of a living process go which way.
std::map<std::string, unsigned> paths_of(const Process& process) {
  std::map<std::string, unsigned> paths;
  if (process.alive())
    for (const control::QpView& qp : process.qps) ++paths[path_text(qp.body).name];
  return paths;
}

int show(bool json, bool zeros) {
  Processes all;
  if (!read_processes(all)) return kFailed;
  CounterValues total{};
  Json rows = Json::array();
  for (const Process& process : all.processes) {
    Json lanes = Json::array();
    for (const control::LaneView& lane : process.lanes) {
      add(total, lane.counters);
      lanes.push_back({{"lane", lane.lane}, {"counters", counters_json(lane.counters)}});
      if (json) continue;
      print_line("pid {} comm {} lane {}{}", process.pid, strong(process.comm), lane.lane,
                 process.alive() ? "" : " (ended)");
      print_counters(lane.counters, zeros);
    }
    const auto paths = paths_of(process);
    rows.push_back({{"pid", process.pid},
                    {"comm", process.comm},
                    {"alive", process.alive()},
                    {"lanes", lanes},
                    {"paths", counts_json(paths)}});
    if (json) continue;
    for (const auto& [path, qps] : paths) print_line("    {:<26} {:>16}", "qps_" + path, qps);
  }
  if (json) {
    print_json({{"processes", rows}, {"total", counters_json(total)}});
  } else if (!rows.elements().empty()) {
    print_line("{}", strong("total"));
    print_counters(total, zeros);
  }
  return kDone;
}

}  // namespace

void add_stat(const grammar::Command& softrnic, Context& context) {
  const grammar::Command command =
      softrnic.command("stat", "Show counters: packets, bytes, retries, NAKs by kind, drops by cause");
  command.alias("statistic");
  auto zeros = std::make_shared<bool>(false);
  auto described = std::make_shared<bool>(false);
  command.flag("-a,--all", *zeros, "counters that are zero too");
  command.flag("--describe", *described, "what each counter counts, and no values");
  command.footer("Examples:\n  softrnic stat\n  softrnic stat --all --json\n  softrnic stat --describe");
  command.finally([&context, zeros, described] {
    context.chosen = [&context, zeros, described] {
      return *described ? describe(context.json) : show(context.json, *zeros);
    };
  });
}

}  // namespace softrnic::cli
