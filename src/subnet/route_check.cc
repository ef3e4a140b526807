#include "subnet/route_check.h"

#include <cinttypes>
#include <cstdio>

namespace softrnic::subnet {
namespace {

constexpr std::size_t kBrokenKept = 16;

constexpr std::array<std::string_view, kRouteEnds> kEndNames = {
    "reached", "source is not attached", "no port has that LID", "no entry", "no link", "wrong port", "loop",
};

// What the table of `sw` does with a packet: an end, or the port of the next switch that it comes in by.
struct Step {
  std::uint8_t out_port = kNoRoute;
  bool is_end = true;
  RouteEnd end = RouteEnd::no_entry;
  SwitchPort next;
};

Step step(const Graph& graph, const ForwardingTables& tables, SwitchId sw, Lid destination) {
  Step step;
  step.out_port = tables.at(sw).linear.port(destination);
  if (step.out_port == kNoRoute) return step;
  step.end = RouteEnd::no_link;
  if (step.out_port > graph.at(sw).ports) return step;
  const Port& port = graph.at(SwitchPort{sw, step.out_port});
  if (port.leads_to_switch()) {
    step.is_end = false;
    step.next = port.peer;
  } else if (port.end_port != kNoEndPort && port.carries_packets()) {
    step.end = graph.owner_of(destination) == port.end_port ? RouteEnd::reached : RouteEnd::wrong_end_port;
  }
  return step;
}

struct Fate {
  RouteEnd end = RouteEnd::reached;
  std::uint32_t hops = 0;
};

// What becomes of packets for one LID at each switch. A switch's fate is that of the switch it hands on to,
// so each is asked once.
class Fates {
 public:
  Fates(const Graph& graph, const ForwardingTables& tables)
      : graph_(graph), tables_(tables), fates_(graph.switches().size()), seen_(fates_.size()) {}

  void look_at(Lid destination) {
    destination_ = destination;
    epoch_ += 2;
  }

  Fate at(SwitchId sw) {
    Fate fate;
    path_.clear();
    while (!is_known(sw)) {
      if (is_on_path(sw)) {
        fate.end = RouteEnd::loop;
        return settle(fate);
      }
      seen_[sw.value] = epoch_;
      path_.push_back(sw);
      const Step next = step(graph_, tables_, sw, destination_);
      if (next.is_end) {
        fates_[sw.value] = {next.end, 0};
        seen_[sw.value] = epoch_ + 1;
        path_.pop_back();
        break;
      }
      sw = next.next.sw;
    }
    return settle(fates_[sw.value]);
  }

 private:
  bool is_on_path(SwitchId sw) const { return seen_[sw.value] == epoch_; }
  bool is_known(SwitchId sw) const { return seen_[sw.value] == epoch_ + 1; }

  // The switches of the path share the fate, each a hop further away.
  Fate settle(Fate fate) {
    for (; !path_.empty(); path_.pop_back()) {
      ++fate.hops;
      fates_[path_.back().value] = fate;
      seen_[path_.back().value] = epoch_ + 1;
    }
    return fate;
  }

  const Graph& graph_;
  const ForwardingTables& tables_;
  Lid destination_;
  std::vector<Fate> fates_;
  std::vector<std::uint32_t>
      seen_;  // by switch: the epoch it was put on the path in, one more when its fate is known
  std::uint32_t epoch_ = 0;
  std::vector<SwitchId> path_;
};

bool takes_part(const Graph& graph, EndPortId id, EndPorts among) {
  const EndPort& port = graph.at(id);
  const bool wanted = among == EndPorts::adapters_and_switches || port.type != NodeType::switch_node;
  return wanted && !port.base_lid.is_reserved() && graph.is_attached(id);
}

void record(RouteReport& report, SwitchId from, Lid destination, Fate fate, std::uint64_t routes) {
  report.routes += routes;
  report.ends[static_cast<std::size_t>(fate.end)] += routes;
  if (fate.end == RouteEnd::reached) {
    if (report.by_hops.size() <= fate.hops) report.by_hops.resize(fate.hops + std::size_t{1});
    report.by_hops[fate.hops] += routes;
  } else if (report.broken.size() < kBrokenKept) {
    report.broken.push_back({from, destination, fate.end});
  }
}

}  // namespace

std::string_view name_of(RouteEnd end) { return kEndNames[static_cast<std::size_t>(end)]; }

Route trace_route(const Graph& graph, const ForwardingTables& tables, EndPortId source, Lid destination) {
  Route route;
  if (!graph.is_attached(source)) return route;
  route.end = RouteEnd::no_such_lid;
  if (graph.owner_of(destination) == kNoEndPort) return route;
  std::vector<bool> passed(graph.switches().size());
  SwitchPort at = graph.at(source).attached;
  while (!passed[at.sw.value]) {
    passed[at.sw.value] = true;
    const Step next = step(graph, tables, at.sw, destination);
    route.hops.push_back({at.sw, at.port, next.out_port});
    route.end = next.end;
    if (next.is_end) return route;
    at = next.next;
  }
  route.end = RouteEnd::loop;
  return route;
}

std::string to_string(const Graph& graph, const Route& route) {
  std::string out;
  char line[96];
  for (const Hop& hop : route.hops) {
    std::snprintf(line, sizeof line, "switch 0x%016" PRIx64 ": in by port %u, out by port %u\n",
                  graph.at(hop.sw).guid.value, hop.in_port, hop.out_port);
    out += line;
  }
  out += name_of(route.end);
  return out;
}

RouteReport check_routes(const Graph& graph, const ForwardingTables& tables, EndPorts among) {
  std::vector<std::uint32_t> sources(graph.switches().size());
  const auto end_ports = static_cast<std::uint32_t>(graph.end_ports().size());
  for (std::uint32_t i = 0; i < end_ports; ++i) {
    if (takes_part(graph, EndPortId(i), among)) ++sources[graph.at(EndPortId(i)).attached.sw.value];
  }
  RouteReport report;
  Fates fates(graph, tables);
  for (std::uint32_t i = 0; i < end_ports; ++i) {
    if (!takes_part(graph, EndPortId(i), among)) continue;
    const EndPort& destination = graph.at(EndPortId(i));
    for (unsigned offset = 0; offset < destination.lids(); ++offset) {
      fates.look_at(destination.lid(offset));
      for (std::uint32_t from = 0; from < sources.size(); ++from) {
        const std::uint32_t own = destination.attached.sw.value == from ? 1 : 0;
        if (sources[from] == own) continue;
        record(report, SwitchId(from), destination.lid(offset), fates.at(SwitchId(from)),
               sources[from] - own);
      }
    }
  }
  return report;
}

}  // namespace softrnic::subnet
