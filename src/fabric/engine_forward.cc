// Engine: where the packet at the head of a buffer goes, and the bids for it.
#include <utility>

#include "fabric/engine.h"

namespace softrnic::fabric {

// Packets that can go nowhere are dropped here, until one can.
void Engine::start_head(InputBuffer& buffer) {
  while (!buffer.empty() && !bid_for_head(buffer)) pool_.release(free_head(buffer));
}

bool Engine::bid_for_head(InputBuffer& buffer) {
  EnginePort& input = *buffer.port;
  Packet& packet = *buffer.head;
  const EngineNode& node = nodes_[input.node.value];
  if (!node.is_switch()) return bid_in_adapter(buffer);
  if (!input.is_external() && packet.way_out != Packet::kByTables) {
    const std::uint8_t way_out = packet.way_out;
    packet.way_out = Packet::kByTables;
    return bid_at(buffer, node.port(way_out));
  }
  if (packet.dlid.is_multicast()) return bid_for_multicast(buffer);
  // The agents read where a directed route goes on (IBTA 14.2.2).
  const bool to_agents = packet.dlid.is_permissive() && packet.is_management();
  const std::uint8_t number = to_agents ? std::uint8_t{0} : node.forwarding.unicast(packet.dlid);
  EnginePort* const output = node.port(number);
  if (output == nullptr) {
    ++input.counters.dlid_mapping_errors;
    return false;
  }
  if (output == &input && input.is_external()) {
    ++input.counters.looping_errors;
    return false;
  }
  return bid_at(buffer, output);
}

// An adapter forwards nothing: what its host sends goes out, or back to it, and what comes in is its own.
bool Engine::bid_in_adapter(InputBuffer& buffer) {
  EnginePort& input = *buffer.port;
  const wire::Lid dlid = buffer.head->dlid;
  const EnginePort& port = input.is_external() ? input : *input.external;
  const bool unset = port.attributes.lid.is_reserved();
  if (!input.is_external()) {
    return bid_at(buffer, !unset && port.owns(dlid) ? &input : input.external);
  }
  if (unset || port.owns(dlid) || dlid.is_multicast() || dlid.is_permissive()) {
    return bid_at(buffer, input.internal);
  }
  ++input.counters.dlid_mapping_errors;
  return false;
}

bool Engine::bid_for_multicast(InputBuffer& buffer) {
  EnginePort& input = *buffer.port;
  const EngineNode& node = nodes_[input.node.value];
  const PortMask ports = node.forwarding.multicast(buffer.head->dlid, input.number);
  if (ports.none()) ++input.counters.dlid_mapping_errors;
  bool bids = false;
  for (std::uint8_t number = 0; number < node.ports.size(); ++number) {
    if (ports[number] && bid_at(buffer, node.ports[number])) bids = true;
  }
  return bids;
}

bool Engine::bid_at(InputBuffer& buffer, EnginePort* output) {
  if (output == nullptr) return false;
  const Packet& packet = *buffer.head;
  std::uint8_t vl = packet.vl;
  if (output->is_external()) {
    if (!packet.is_management()) {
      const std::optional<std::uint8_t> mapped = output->map_vl(buffer.port->number, packet.sl);
      if (!mapped) {
        ++(buffer.port->is_external() ? buffer.port : output)->counters.vl_mapping_errors;
        return false;
      }
      vl = *mapped;
    }
    if (!admits_out(*output, packet, vl)) return false;
  }
  const TimePoint deadline = deadline_at(*output, packet, vl);
  if (deadline <= now_) {
    ++output->counters.switch_lifetime_discards;
    return false;
  }
  push_bid(buffer, *output, vl, deadline);
  return true;
}

bool Engine::admits_out(EnginePort& output, const Packet& packet, std::uint8_t vl) {
  PortCounters& counters = output.counters;
  const PortAttributes& attributes = output.attributes;
  const Passage passage = passage_of(output.state);
  if (packet.is_management()) {
    if (!passage.sends_management) ++counters.inactive_discards;
    return passage.sends_management;
  }
  if (!passage.sends_data) {
    ++counters.inactive_discards;
    return false;
  }
  if (packet.length > attributes.neighbor_mtu + kMaxHeaderBytes) {
    ++counters.neighbor_mtu_discards;
    return false;
  }
  if (packet.raw ? attributes.filter_raw_out
                 : attributes.enforce_partitions_out && !output.partitions.admits_out(packet.pkey)) {
    ++counters.xmit_constraint_errors;
    if (!packet.raw) tell_fault(output, PortFault::bad_p_key, &packet);
    return false;
  }
  if (output.out[vl].stalled_until > now_) {
    ++counters.hoq_lifetime_discards;
    return false;
  }
  return true;
}

void Engine::push_bid(InputBuffer& buffer, EnginePort& output, std::uint8_t vl, TimePoint deadline) {
  Bid* const bid = bid_pool_.take();
  bid->from = &buffer;
  bid->output = &output;
  bid->deadline = deadline;
  bid->vl = vl;
  bid->sibling = std::exchange(buffer.bids, bid);
  output.out[vl].bids.push_back(bid);
  ++output.bids;
  if (output.waiting_since == kNever) output.begin_wait(now_);
  if (output.out[vl].waiting_since == kNever) output.out[vl].waiting_since = now_;
  if (deadline != kNever) watch(output, deadline);
  refresh(output, vl);
}

// It stays a bid of its packet until release().
void Engine::unqueue(Bid* bid) {
  EnginePort& output = *bid->output;
  output.out[bid->vl].bids.remove(bid);
  output.count_wait(now_, bid->vl);
  if (--output.bids == 0) {
    output.count_wait(now_);
    output.begin_wait(now_);
  }
  refresh(output, bid->vl);
}

void Engine::refresh(EnginePort& output, std::uint8_t vl) {
  const OutputVl& lane = output.out[vl];
  const Bid* const first = lane.bids.front();
  const bool ready = first != nullptr && (!output.is_external() || vl == kManagementVl ||
                                          lane.credit.can_send(first->from->head->blocks));
  output.ready = static_cast<VlMask>(ready ? output.ready | vl_bit(vl) : output.ready & ~vl_bit(vl));
  if (ready) mark_ready(output);
}

// The packet itself for the last of its bids, copies for those before; null when there is no memory for one.
Packet* Engine::take(Bid* bid) {
  InputBuffer& buffer = *bid->from;
  release(bid);
  if (buffer.bids != nullptr) return pool_.copy(*buffer.head);
  Packet* const packet = free_head(buffer);
  start_head(buffer);
  return packet;
}

void Engine::drop(Bid* bid) {
  InputBuffer& buffer = *bid->from;
  release(bid);
  if (buffer.bids != nullptr) return;
  pool_.release(free_head(buffer));
  start_head(buffer);
}

void Engine::release(Bid* bid) {
  Bid** place = &bid->from->bids;
  while (*place != bid) place = &(*place)->sibling;
  *place = bid->sibling;
  bid_pool_.release(bid);
}

Packet* Engine::free_head(InputBuffer& buffer) {
  Packet* const packet = buffer.pop();
  EnginePort& port = *buffer.port;
  if (port.is_external()) {
    owe_flow_control(port, buffer.vl);
  } else if ((port.refused & vl_bit(buffer.vl)) != 0) {
    port.refused = 0;
    room_.push_back(&port);
  }
  return packet;
}

}  // namespace softrnic::fabric
