// Engine: packets that come in.
#include "fabric/engine.h"

namespace softrnic::fabric {
namespace {

void count_received(PortCounters& counters, const Packet& packet) {
  const std::uint64_t words = packet.length / 4U;
  counters.rcv_data += words;
  counters.rcv_data_by_sl[packet.sl] += words;
  ++(packet.dlid.is_multicast() ? counters.multicast_rcv_packets : counters.unicast_rcv_packets);
}

}  // namespace

// A damaged packet never counts as received: the sender's FCTBS will tell (IBTA 7.9.4.3).
void Engine::arrive(EnginePort& port, Packet* packet) {
  if (port.is_remote()) return leave(port, packet);
  if (packet->damaged) {
    ++port.counters.symbol_errors;
    ++port.counters.local_physical_errors;
    tell_fault(port, PortFault::physical_error, packet);
    return pool_.release(packet);
  }
  InputBuffer& buffer = port.in[packet->vl];
  if (!packet->is_management()) buffer.credit.received(packet->blocks);
  if (!admits_in(port, *packet)) {
    pool_.release(packet);
    return owe_flow_control(port, buffer.vl);
  }
  enqueue(buffer, packet);
}

bool Engine::admits_in(EnginePort& port, const Packet& packet) {
  PortCounters& counters = port.counters;
  const bool management = packet.is_management();
  const Passage passage = passage_of(port.state);
  if (management ? !passage.receives_management : !passage.receives_data) return false;
  count_received(counters, packet);
  const InputBuffer& buffer = port.in[packet.vl];
  if (management) {
    if (buffer.fits(packet.blocks)) return true;
    ++counters.vl15_dropped;
    return false;
  }
  // The first data packet tells that the far end is active (IBTA 7.2.7).
  if (port.state == PortState::armed) enter(port, PortState::active);
  if ((port.operational & vl_bit(packet.vl)) == 0) {
    ++counters.malformed_packet_errors;
    return false;
  }
  const PortAttributes& attributes = port.attributes;
  if (packet.raw ? attributes.filter_raw_in
                 : attributes.enforce_partitions_in && !port.partitions.admits_in(packet.pkey)) {
    ++counters.rcv_constraint_errors;
    if (!packet.raw) tell_fault(port, PortFault::bad_p_key, &packet);
    return false;
  }
  if (buffer.fits(packet.blocks)) return true;
  ++counters.buffer_overrun_errors;
  tell_fault(port, PortFault::buffer_overrun, &packet);
  return false;
}

void Engine::tell_fault(const EnginePort& port, PortFault fault, const Packet* packet) {
  if (surroundings_.management != nullptr) surroundings_.management->on_fault(port.id, fault, packet);
}

void Engine::enqueue(InputBuffer& buffer, Packet* packet) {
  packet->arrived = now_;
  buffer.push(packet);
  if (buffer.head == packet) start_head(buffer);
}

}  // namespace softrnic::fabric
