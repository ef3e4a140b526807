#include "fabricd/path_obstacles.h"

#include <algorithm>

#include "fabricd/link_obstacles.h"

namespace softrnic::fabricd {
namespace {

using fabric::EnginePort;
using fabric::PortAddress;

/// A VL whose first packet has waited so long without credits is stuck; less is congestion. A host that does
/// not read holds its packets up for 50 ms, and on slow links a full buffer takes its time to empty.
Duration stuck_after(const fabric::Link& link, const fabric::InputBuffer& buffer) {
  constexpr Duration kLeast{100'000'000};
  constexpr std::int64_t kBuffers = 4;
  if (link.rate.is_unlimited()) return kLeast;
  const std::int64_t bytes = kBuffers * buffer.size * std::int64_t{fabric::kFlowControlBlockBytes};
  return std::max(kLeast, Duration(bytes * link.rate.nanoseconds / link.rate.bytes));
}

/// One hop: the ports that it goes through, the output with a cable.
class HopCheck {
 public:
  HopCheck(const FabricState& state, const PathHop& hop, const PathTraffic& traffic, Obstacles& found)
      : state_(state),
        hop_(hop),
        traffic_(traffic),
        found_(found),
        at_{hop.node, hop.out_port},
        input_(state.port({hop.node, hop.in_port})),
        output_(state.port(at_)) {}

  void check(std::uint16_t mtu_of_source) {
    const bool leaves = output_ != nullptr && output_->is_external() && hop_.out_port != hop_.in_port;
    if (!leaves) return;
    find_link_obstacles(state_, at_, found_);
    check_partitions();
    if (output_->attributes.neighbor_mtu < mtu_of_source)
      found_.add({.kind = ObstacleKind::mtu, .at = at_, .bytes = output_->attributes.neighbor_mtu});
    check_errors();
    if (!hop_.vl) return add_mapping();
    check_vl(*hop_.vl);
  }

 private:
  void add_mapping() {
    const auto& tables = output_->sl_to_vl;
    const std::uint8_t vl = tables[hop_.in_port < tables.size() ? hop_.in_port : 0][traffic_.sl & 0xf];
    found_.add(
        {.kind = vl == fabric::kManagementVl ? ObstacleKind::sl_dropped : ObstacleKind::vl_not_operational,
         .at = at_,
         .in_port = hop_.in_port,
         .sl = traffic_.sl,
         .vl = vl});
  }

  void check_partitions() {
    if (!traffic_.p_key) return;
    const std::uint16_t p_key = *traffic_.p_key;
    const bool comes_from_cable = input_ != nullptr && input_->is_external();
    if (comes_from_cable && input_->attributes.enforce_partitions_in && !input_->partitions.admits_in(p_key))
      found_.add({.kind = ObstacleKind::p_key_refused, .at = {hop_.node, hop_.in_port}, .p_key = p_key});
    if (output_->attributes.enforce_partitions_out && !output_->partitions.admits_out(p_key))
      found_.add({.kind = ObstacleKind::p_key_refused, .at = at_, .p_key = p_key});
  }

  void check_errors() {
    if (output_->link == nullptr || !hop_.peer) return;
    const fabric::LinkFaults& faults = output_->link->faults;
    const double part = std::max(faults.packet_errors, faults.flow_control_errors);
    if (part > 0)
      found_.add_of_cable({.kind = ObstacleKind::link_errors, .at = at_, .peer = hop_.peer, .part = part});
  }

  void check_vl(std::uint8_t vl) {
    if (output_->peer != nullptr && (output_->peer->operational & fabric::vl_bit(vl)) == 0)
      found_.add({.kind = ObstacleKind::vl_not_taken, .at = *hop_.peer, .sl = traffic_.sl, .vl = vl});
    if (!has_weight(vl)) found_.add({.kind = ObstacleKind::vl_without_weight, .at = at_, .vl = vl});
    check_credits(vl);
  }

  /// A port with one data VL needs no arbitration.
  bool has_weight(std::uint8_t vl) const {
    const fabric::ManagedPort* const port = state_.managed(at_);
    if (port == nullptr || output_->attributes.operational_vls == 1) return true;
    const auto gives = [vl](const fabric::VlWeight& entry) { return entry.vl == vl && entry.weight != 0; };
    return std::ranges::any_of(port->low_priority, gives) || std::ranges::any_of(port->high_priority, gives);
  }

  void check_credits(std::uint8_t vl) {
    const fabric::OutputVl& lane = output_->out[vl];
    const fabric::Bid* const first = lane.bids.front();
    if (first == nullptr || lane.credit.can_send(first->from->head->blocks)) return;
    const Duration waited = traffic_.now - first->from->head->arrived;
    const bool is_stuck = waited >= stuck_after(*output_->link, output_->peer->in[vl]);
    found_.add({.kind = is_stuck ? ObstacleKind::credits_stuck : ObstacleKind::congestion,
                .at = at_,
                .peer = hop_.peer,
                .vl = vl,
                .waited = waited});
  }

  const FabricState& state_;
  const PathHop& hop_;
  const PathTraffic& traffic_;
  Obstacles& found_;
  PortAddress at_;
  const EnginePort* input_;
  const EnginePort* output_;
};

struct EndRow {
  PathEnd end;
  ObstacleKind kind;
};
/// Of links that are down find_link_obstacles() tells more.
constexpr EndRow kEndObstacles[] = {
    {PathEnd::no_entry, ObstacleKind::no_entry},     {PathEnd::no_such_port, ObstacleKind::no_such_port},
    {PathEnd::turns_back, ObstacleKind::turns_back}, {PathEnd::loop, ObstacleKind::loop},
    {PathEnd::wrong_port, ObstacleKind::wrong_port},
};

void add_end(const PathTrace& trace, wire::Lid to, Obstacles& found) {
  if (trace.hops.empty()) return;
  const PathHop& last = trace.hops.back();
  for (const EndRow& row : kEndObstacles)
    if (row.end == trace.end)
      found.add({.kind = row.kind, .at = {last.node, last.out_port}, .peer = last.peer, .lid = to});
}

/// What has come to the last port, and lies there.
void check_host(const FabricState& state, const PathTrace& trace, Obstacles& found) {
  if (trace.end != PathEnd::reached || trace.hops.empty() || !trace.hops.back().peer) return;
  const EnginePort* const port = state.port(*trace.hops.back().peer);
  if (port->internal != nullptr && port->internal->held)
    found.add({.kind = ObstacleKind::host_holds, .at = *trace.hops.back().peer});
}

}  // namespace

void find_path_obstacles(const FabricState& state, const PathTrace& trace, const PathTraffic& traffic,
                         Obstacles& found) {
  if (trace.hops.empty()) return;
  const PathHop& first = trace.hops.front();
  const EnginePort* const source = state.port({first.node, first.out_port});
  const std::uint16_t mtu = source != nullptr ? source->attributes.neighbor_mtu : std::uint16_t{0};
  for (const PathHop& hop : trace.hops) HopCheck(state, hop, traffic, found).check(mtu);
  add_end(trace, traffic.to, found);
  check_host(state, trace, found);
}

}  // namespace softrnic::fabricd
