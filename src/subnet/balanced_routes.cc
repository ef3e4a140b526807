#include "subnet/balanced_routes.h"

#include <algorithm>
#include <array>
#include <compare>
#include <tuple>

namespace softrnic::subnet {
namespace {

// Why a port is worse than another, the weightiest first.
struct Cost {
  std::uint8_t nearness =
      0;                   // 0: other LIDs of the port pass other systems, 1: other switches, 2: this one too
  std::uint32_t load = 0;  // LIDs that leave by it
  std::uint32_t siblings = 0;  // other LIDs of the same port that pass the same switch

  auto operator<=>(const Cost&) const = default;
};

// Fills the table of one switch.
class SwitchRouter {
 public:
  SwitchRouter(const Graph& graph, const NextPorts& next_ports, const RoutingOptions& options, SwitchId sw,
               Routing& routing)
      : graph_(graph),
        next_ports_(next_ports),
        kept_(options.keep != nullptr && sw.value < options.keep->switches() ? &options.keep->at(sw).linear
                                                                             : nullptr),
        sw_(sw),
        table_(routing.tables.at(sw).linear),
        steps_(routing.steps) {}

  void route(const EndPort& destination, unsigned offset) {
    const std::uint8_t port = choose(destination, offset);
    table_.set(destination.lid(offset), port);
    if (port != kNoRoute && destination.type != NodeType::switch_node) ++load_[port];
  }

 private:
  std::uint8_t choose(const EndPort& destination, unsigned offset) {
    if (destination.attached.sw == sw_) return destination.attached.port;
    look_towards(destination.attached.sw);
    if (ports_.empty()) return kNoRoute;
    if (kept_ != nullptr) {
      const std::uint8_t port = kept_->port(destination.lid(offset));
      if (std::ranges::find(ports_, port) != ports_.end()) return port;
    }
    return cheapest(destination, offset);
  }

  // End ports come switch by switch, so the answer serves many of them.
  void look_towards(SwitchId to) {
    if (to == towards_) return;
    towards_ = to;
    ports_.clear();
    next_ports_(sw_, to, ports_);
    steps_ += graph_.at(sw_).ports;
  }

  // The first of the cheapest, from behind the port of the LID before.
  std::uint8_t cheapest(const EndPort& destination, unsigned offset) {
    const std::uint8_t previous = offset == 0 ? std::uint8_t{0} : table_.port(destination.lid(offset - 1));
    const auto start = std::ranges::upper_bound(ports_, previous) - ports_.begin();
    std::uint8_t best = kNoRoute;
    Cost best_cost;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const std::uint8_t port = ports_[(static_cast<std::size_t>(start) + i) % ports_.size()];
      const Cost port_cost = cost(port, destination, offset);
      if (best != kNoRoute && port_cost >= best_cost) continue;
      best = port;
      best_cost = port_cost;
    }
    steps_ += ports_.size();
    return best;
  }

  Cost cost(std::uint8_t port, const EndPort& destination, unsigned offset) const {
    Cost cost{0, load_[port], 0};
    const Switch& next = peer(port);
    for (unsigned sibling = 0; sibling < offset; ++sibling) {
      const std::uint8_t other_port = table_.port(destination.lid(sibling));
      if (other_port == kNoRoute) continue;
      const Switch& other = peer(other_port);
      if (other.guid == next.guid) ++cost.siblings;
      if (other.system_image == next.system_image) cost.nearness = std::max(cost.nearness, std::uint8_t{1});
    }
    if (cost.siblings != 0) cost.nearness = 2;
    return cost;
  }

  const Switch& peer(std::uint8_t port) const { return graph_.at(graph_.at(SwitchPort{sw_, port}).peer.sw); }

  const Graph& graph_;
  const NextPorts& next_ports_;
  const LinearForwardingTable* kept_;
  SwitchId sw_;
  LinearForwardingTable& table_;
  std::uint64_t& steps_;
  std::array<std::uint32_t, kMaxSwitchPorts + 1> load_{};
  SwitchId towards_ = kNoSwitch;
  std::vector<std::uint8_t> ports_;
};

// The end ports that can be reached: adapters first, those of switches with many before those of switches
// with few, as in OpenSM: what is left to balance with last is where little hangs. GUIDs decide the rest.
std::vector<EndPortId> routing_order(const Graph& graph) {
  std::vector<std::uint32_t> adapters(graph.switches().size());
  std::vector<EndPortId> order;
  for (std::uint32_t i = 0; i < graph.end_ports().size(); ++i) {
    const EndPort& port = graph.end_ports()[i];
    if (port.base_lid.is_reserved() || !graph.is_attached(EndPortId(i))) continue;
    order.push_back(EndPortId(i));
    if (port.type != NodeType::switch_node) ++adapters[port.attached.sw.value];
  }
  const auto key = [&](EndPortId id) {
    const EndPort& port = graph.at(id);
    const bool is_switch = port.type == NodeType::switch_node;
    const std::uint32_t beside = is_switch ? 0 : adapters[port.attached.sw.value];
    return std::tuple(is_switch, ~beside, graph.at(port.attached.sw).guid, port.attached.port);
  };
  std::ranges::sort(order, {}, key);
  return order;
}

}  // namespace

void balance_routes(const Graph& graph, const NextPorts& next_ports, const RoutingOptions& options,
                    Routing& routing) {
  const std::vector<EndPortId> order = routing_order(graph);
  unsigned most_lids = 0;
  for (const EndPortId id : order) most_lids = std::max(most_lids, graph.at(id).lids());
  for (std::uint32_t i = 0; i < graph.switches().size(); ++i) {
    SwitchRouter router(graph, next_ports, options, SwitchId(i), routing);
    for (unsigned offset = 0; offset < most_lids; ++offset) {
      for (const EndPortId id : order) {
        const EndPort& destination = graph.at(id);
        if (offset < destination.lids()) router.route(destination, offset);
      }
    }
  }
}

}  // namespace softrnic::subnet
