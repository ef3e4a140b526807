// Engine: cables that leave it, and what comes by them.
#include "fabric/engine.h"

namespace softrnic::fabric {
namespace {

constexpr NodeId kElsewhere{0xffff'ffff};
/// A cable between processes is a long one: with less under way, credits would hold up who could send.
constexpr std::uint16_t kLongCableBlocks = kMaxCredit;

}  // namespace

// The remote port has no buffers: what arrives there is handed over at once.
Expected<RemoteCable, BuildError> Engine::connect_remote(PortId id, const Rate& rate, Duration delay) {
  if (running_) return Unexpected{BuildError::busy};
  EnginePort* const port = find(id);
  if (port == nullptr || !port->is_external() || delay < Duration(0))
    return Unexpected{BuildError::unknown_port};
  if (port->link != nullptr) return Unexpected{BuildError::already_connected};
  if (ports_.size() >= limits_.ports) return Unexpected{BuildError::too_many_ports};
  EnginePort* const remote = add_port(kElsewhere, 0, PortKind::remote, {.data = 0, .management = 0});
  remote->enabled = false;
  for (std::uint8_t vl = 0; vl < kDataVls; ++vl) port->in[vl].size = kLongCableBlocks;
  return RemoteCable{remote->id, tie(*port, *remote, rate, delay)};
}

EnginePort* Engine::find_remote(PortId id) {
  EnginePort* const port = find(id);
  return port != nullptr && port->is_remote() ? port : nullptr;
}

void Engine::leave(EnginePort& remote, Packet* packet) {
  if (surroundings_.remotes != nullptr) surroundings_.remotes->carry(remote.id, *packet);
  pool_.release(packet);
}

// The far end repeats its flow control for what it knows to be damaged. Of what is lost here it does not
// know, so the credits are given back at once.
bool Engine::hear(PortId id, Bytes bytes, bool damaged) {
  const EnginePort* const remote = find_remote(id);
  if (remote == nullptr) return false;
  EnginePort& port = *remote->peer;
  const auto fields = read_packet(bytes);
  if (!fields) {
    ++port.counters.malformed_packet_errors;
    return false;
  }
  if (!port.link->up) return true;
  Packet* const packet = pool_.make(*fields, bytes);
  const bool is_lost = packet == nullptr || (!damaged && happens(port.link->faults.packet_errors));
  if (is_lost && !fields->is_management()) {
    port.in[fields->vl].credit.received(fields->blocks);
    owe_flow_control(port, fields->vl);
  }
  if (packet == nullptr) {
    ++port.counters.no_memory_discards;
    return true;
  }
  packet->damaged = damaged || is_lost;
  arrive(port, packet);
  return true;
}

bool Engine::hear(PortId id, const wire::FlowControlPacket& packet) {
  const EnginePort* const remote = find_remote(id);
  if (remote == nullptr || packet.vl >= kDataVls) return false;
  if (remote->link->up) hear_flow_control(*remote->peer, packet);
  return true;
}

}  // namespace softrnic::fabric
