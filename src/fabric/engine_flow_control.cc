// Engine: flow control packets (IBTA 7.9.4).
#include <bit>
#include <utility>

#include "fabric/engine.h"

namespace softrnic::fabric {
namespace {

/// Real ports repeat flow control every 65,536 symbol times at the least, of 4 ns at the lowest speed. Here
/// only what the peer did not hear is repeated.
constexpr Duration kFlowControlInterval{65'536 * 4};

}  // namespace

void Engine::owe_flow_control(EnginePort& port, std::uint8_t vl) {
  if (vl == kManagementVl) return;
  port.owed_flow_control |= vl_bit(vl);
  mark_ready(port);
}

void Engine::send_flow_control(EnginePort& port) {
  VlMask owed = std::exchange(port.owed_flow_control, VlMask{0});
  if (port.link == nullptr || !port.link->up) return;
  for (; owed != 0; owed = static_cast<VlMask>(owed & (owed - 1U))) {
    send_flow_control(port, static_cast<std::uint8_t>(std::countr_zero(owed)));
  }
}

// It must not overtake the packets that its FCTBS counts: their arrivals were told to the queue before.
void Engine::send_flow_control(EnginePort& port, std::uint8_t vl) {
  using Operation = wire::FlowControlOperation;
  const Link& link = *port.link;
  const wire::FlowControlPacket packet{
      .operation = port.state == PortState::initialize ? Operation::init : Operation::normal,
      .fctbs = port.out[vl].credit.fctbs(),
      .vl = vl,
      .fccl = port.in[vl].credit.fccl(port.in[vl].free_blocks())};
  ++port.counters.xmit_flow_control;
  if (surroundings_.tap != nullptr) surroundings_.tap->on_flow_control(port.id, packet, now_);
  if (happens(link.faults.flow_control_errors)) {
    ++port.peer->counters.symbol_errors;
    ++port.peer->counters.local_physical_errors;
    tell_fault(*port.peer, PortFault::physical_error, nullptr);
    return repeat_flow_control(port, vl);
  }
  if (link.is_instant() && port.under_way == 0) return hear_flow_control(*port.peer, packet);
  ++port.under_way;
  events_.push({.time = now_ + link.delay,
                .port = port.peer,
                .epoch = link.epoch,
                .flow_control = packet,
                .kind = EventKind::flow_control_arrival});
}

void Engine::hear_flow_control(EnginePort& port, const wire::FlowControlPacket& packet) {
  if (port.is_remote()) {
    if (surroundings_.remotes != nullptr) surroundings_.remotes->carry(port.id, packet);
    return;
  }
  ++port.counters.rcv_flow_control;
  port.out[packet.vl].credit.hear(packet.fccl);
  refresh(port, packet.vl);
  if (port.in[packet.vl].credit.hear(packet.fctbs)) owe_flow_control(port, packet.vl);
}

void Engine::repeat_flow_control(EnginePort& port, std::uint8_t vl) {
  port.unheard_flow_control |= vl_bit(vl);
  if (std::exchange(port.refreshes_flow_control, true)) return;
  events_.push({.time = now_ + kFlowControlInterval, .port = &port, .kind = EventKind::flow_control_refresh});
}

}  // namespace softrnic::fabric
