#include "fabric/agent_outbox.h"

#include "fabric/engine.h"

namespace softrnic::fabric {

bool AgentOutbox::send(PortId via, const DatagramPacket& packet) {
  const Key key = key_of(room_of(via), packet.is_management());
  const auto found = queues_.find(key);
  if (found == queues_.end()) {
    const Outcome outcome = try_send(via, packet);
    if (outcome != Outcome::waits) return outcome == Outcome::sent;
  }
  const bool fits = waiting_ < kCapacity && (found == queues_.end() || found->second.size() < kQueueCapacity);
  if (!fits) return false;
  queues_[key].push_back({via, packet});
  ++waiting_;
  return true;
}

void AgentOutbox::on_room(PortId port) {
  drain(key_of(port, true));
  drain(key_of(port, false));
}

void AgentOutbox::drain(Key key) {
  const auto found = queues_.find(key);
  if (found == queues_.end()) return;
  std::deque<Entry>& queue = found->second;
  while (!queue.empty()) {
    if (try_send(queue.front().via, queue.front().packet) == Outcome::waits) return;
    queue.pop_front();
    --waiting_;
  }
  queues_.erase(found);
}

// All that a switch sends begins at its port 0.
PortId AgentOutbox::room_of(PortId via) const {
  const EnginePort* const port = engine_.port(via);
  const EngineNode* const node = port == nullptr ? nullptr : engine_.node(port->node);
  return node != nullptr && node->is_switch() ? node->port(0)->id : via;
}

AgentOutbox::Outcome AgentOutbox::try_send(PortId via, const DatagramPacket& packet) {
  const auto sent = engine_.send(via, packet.bytes());
  if (sent) return Outcome::sent;
  return sent.error() == SendError::no_room ? Outcome::waits : Outcome::dropped;
}

}  // namespace softrnic::fabric
