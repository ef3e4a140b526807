// Engine: packets that leave a port, by its cable or to what is behind an internal one.
#include "fabric/engine.h"

namespace softrnic::fabric {
namespace {

void count_sent(PortCounters& counters, const Packet& packet) {
  const std::uint64_t words = packet.length / 4U;
  counters.xmit_data += words;
  counters.xmit_data_by_sl[packet.sl] += words;
  ++counters.xmit_packets_by_vl[packet.vl];
  ++(packet.dlid.is_multicast() ? counters.multicast_xmit_packets : counters.unicast_xmit_packets);
}

}  // namespace

void Engine::transmit(EnginePort& output, std::uint8_t vl) {
  OutputVl& lane = output.out[vl];
  Bid* const bid = lane.bids.front();
  output.count_wait(now_);
  output.begin_wait(now_);
  unqueue(bid);
  Packet* const packet = take(bid);
  if (packet == nullptr) {
    ++output.counters.no_memory_discards;
    return;
  }
  packet->vl = vl;
  output.count_sent(vl, packet->blocks);
  lane.drops_in_row = 0;
  refresh(output, vl);
  put_on_link(output, packet);
}

void Engine::put_on_link(EnginePort& output, Packet* packet) {
  Link& link = *output.link;
  count_sent(output.counters, *packet);
  packet->damaged = happens(link.faults.packet_errors);
  if (packet->damaged && !packet->is_management()) repeat_flow_control(output, packet->vl);
  if (surroundings_.tap != nullptr) surroundings_.tap->on_packet(output.id, *packet, now_);
  output.occupy(now_, packet->length + kVcrcBytes, link.rate);
  output.out[packet->vl].sent_until = output.busy_until;
  if (link.is_instant() && output.under_way == 0) return arrive(*output.peer, packet);
  ++output.under_way;
  events_.push({.time = output.busy_until + link.delay,
                .port = output.peer,
                .packet = packet,
                .epoch = link.epoch,
                .kind = EventKind::arrival});
}

// While it is looked at the packet keeps its place and its bid, so that whatever is called from there finds
// everything in order.
void Engine::deliver(EnginePort& internal, std::uint8_t vl) {
  Bid* const bid = internal.out[vl].bids.front();
  const std::uint16_t blocks = bid->from->head->blocks;
  unqueue(bid);
  if (hand_over(internal, *bid->from)) {
    internal.count_sent(vl, blocks);
    return drop(bid);
  }
  internal.held = true;
  internal.out[vl].bids.push_front(bid);
  ++internal.bids;
  refresh(internal, vl);
}

bool Engine::hand_over(EnginePort& internal, const InputBuffer& buffer) {
  const Packet& packet = *buffer.head;
  const bool is_switch = internal.external == nullptr;
  const PortId port = is_switch ? buffer.port->id : internal.external->id;
  if (is_switch || packet.is_for_agents()) {
    const bool taken =
        surroundings_.management != nullptr && surroundings_.management->on_packet(port, packet);
    if (taken || is_switch) return true;
  }
  return hand_to_host(internal, port, packet);
}

bool Engine::hand_to_host(EnginePort& internal, PortId port, const Packet& packet) {
  if (surroundings_.hosts == nullptr || surroundings_.hosts->on_packet(port, packet)) return true;
  if (!packet.is_management()) return false;
  ++internal.external->counters.vl15_dropped;
  return true;
}

bool Engine::happens(double chance) {
  return chance > 0 && surroundings_.dice != nullptr && surroundings_.dice->roll() < chance;
}

}  // namespace softrnic::fabric
