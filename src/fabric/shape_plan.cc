#include "fabric/shape_plan.h"

#include <algorithm>

#include "fabric/text_error.h"

namespace softrnic::fabric {
namespace {

// "Local" by EUI-64's bit, so that they are nobody's; otherwise as ibsim counts.
constexpr std::uint64_t kFirstAdapterGuid = 0x0200'0000'0010'0000;
constexpr std::uint64_t kFirstSwitchGuid = 0x0200'0000'0020'0000;
// An adapter takes a GUID for itself and one for its port.
static_assert(kFirstAdapterGuid + 2 * Topology::kMaxLids < kFirstSwitchGuid);

}  // namespace

std::string ShapePlan::refusal(std::uint64_t switches, std::uint64_t hosts) {
  if (switches + hosts <= Topology::kMaxLids) return {};
  return "that is " + std::to_string(switches) + " switches and " + std::to_string(hosts) +
         " hosts; together there can be " + std::to_string(Topology::kMaxLids) + ", the LIDs of a subnet";
}

std::size_t ShapePlan::add(NodeType type, std::string name) {
  nodes_.push_back({type, std::move(name)});
  return nodes_.size() - 1;
}

void ShapePlan::add_hosts(std::size_t node, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) cable(node, add_host());
}

void ShapePlan::cable(std::size_t a, std::size_t b) {
  cables_.emplace_back(a, b);
  ++nodes_[a].degree;
  ++nodes_[b].degree;
}

Expected<std::uint32_t, std::string> ShapePlan::switch_ports(std::optional<std::uint32_t> wanted) const {
  const PlannedNode* busiest = nullptr;
  for (const PlannedNode& node : nodes_) {
    if (node.type == NodeType::switch_node && (!busiest || node.degree > busiest->degree)) busiest = &node;
  }
  if (!busiest) return 0U;
  const std::uint32_t most = wanted.value_or(Topology::kMaxNodePorts);
  if (busiest->degree > most)
    return Unexpected{"switch " + quoted(busiest->name) + " needs " + std::to_string(busiest->degree) +
                      " ports; " + (wanted ? "ports= gives it " : "a switch has at most ") +
                      std::to_string(most)};
  return wanted.value_or(std::max(busiest->degree, 1U));
}

Expected<Topology, std::string> ShapePlan::build(std::optional<std::uint32_t> ports, LinkRate rate) const {
  const auto of_switches = switch_ports(ports);
  if (!of_switches) return Unexpected{of_switches.error()};
  Topology topology;
  std::uint64_t adapter_guid = kFirstAdapterGuid, switch_guid = kFirstSwitchGuid;
  for (const PlannedNode& node : nodes_) {
    const bool is_switch = node.type == NodeType::switch_node;
    const std::uint32_t own = is_switch ? *of_switches : std::max(node.degree, 1U);
    std::uint64_t& guid = is_switch ? switch_guid : adapter_guid;
    const auto added = topology.add(make_node(node.type, node.name, own, Guid(guid), rate));
    if (!added) return Unexpected{added.error()};
    guid += is_switch ? 1 : own + 1;
  }
  std::vector<std::uint8_t> used(nodes_.size());
  for (const auto& [a, b] : cables_) {
    const PortAddress first{NodeIndex(static_cast<std::uint32_t>(a)), ++used[a]};
    const PortAddress second{NodeIndex(static_cast<std::uint32_t>(b)), ++used[b]};
    if (const auto made = topology.connect(first, second); !made) return Unexpected{made.error()};
  }
  return topology;
}

}  // namespace softrnic::fabric
