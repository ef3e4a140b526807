#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "transport/ib/rx_packet.h"

namespace softrnic::sim {

namespace {
constexpr std::uint64_t kMaxEvents = 4'000'000;
constexpr Duration kMaxTime = std::chrono::seconds(2000);
constexpr Duration kPacketTime{120};

/// The payload of a flight, when it stayed with the sender.
class Rendezvous final : public ib::PayloadSource {
 public:
  Rendezvous(Network& network, std::uint32_t flight) : network_(network), flight_(flight) {}
  bool copy(std::size_t offset, std::byte* to, std::size_t size) override {
    const bool there = network_.fetch(flight_, offset, to, size);
    failed_ |= !there;
    return there;
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Piece& piece : network_.flight(flight_).pieces) sum += piece.size;
    return sum;
  }
  bool failed() const { return failed_; }

 private:
  Network& network_;
  std::uint32_t flight_;
  bool failed_ = false;
};

}  // namespace

void World::schedule(TimePoint at, Kind kind, std::uint32_t subject, std::uint64_t argument) {
  events_.push(Event{std::max(at, ground_.now), order_++, kind, subject, argument});
}

Result World::run() {
  while (!events_.empty() && !ground_.failed() && !at_rest()) {
    const Event event = events_.top();
    events_.pop();
    ground_.now = event.at;
    handle(event);
    if (++handled_ > kMaxEvents) ground_.fail("livelock: too many events");
    if (ground_.now.time_since_epoch() > kMaxTime) ground_.fail("nothing ends: too much virtual time");
  }
  if (!ground_.failed()) finish();
  Result result;
  result.failure = ground_.failure;
  result.packets = network_.packets();
  result.attack_packets = attacks_.packets;
  for (const auto& node : nodes_) result.work += node->posted;
  result.ended = ground_.now;
  if (ground_.failed()) result.trace = ground_.trace.tail(~std::size_t{0});
  return result;
}

/// Nothing is under way and nobody has anything left to do.
bool World::at_rest() const {
  if (network_.under_way() != 0) return false;
  if (std::any_of(adapters_.begin(), adapters_.end(), [](const Adapter& a) { return a.unexpected->any(); }))
    return false;
  return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& n) {
    if (n->gone() || (n->broken && n->pair->type == ib::QpType::rc)) return true;
    const bool finished = n->started && n->posted >= n->pair->work[n->side];
    return finished && n->endpoint->outstanding_sends() == 0 && !n->drain_pending && !n->drained_seen &&
           !n->pump_scheduled;
  });
}

void World::handle(const Event& event) {
  if (event.kind == Kind::packet) return deliver(event.subject, static_cast<std::uint32_t>(event.argument));
  if (event.kind == Kind::paths) return change_paths(event.argument != 0);
  if (event.kind == Kind::attack) return fire_again();
  if (event.kind == Kind::look) return look_after_unexpected(event.subject);
  Node& node = *nodes_[event.subject];
  switch (event.kind) {
    case Kind::timer:
      return expire(node);
    case Kind::pump:
      node.pump_scheduled = false;
      pump(node);
      return resume_if_drained(node);
    case Kind::work:
      node.work_scheduled = false;
      return work(node);
    case Kind::repost:
      return repost(node, event.argument);
    case Kind::incident:
      return befall(node);
    case Kind::resume:
      return resume(node);
    case Kind::start:
      return start(node);
    case Kind::told:
      return told(node);
    case Kind::packet:
    case Kind::paths:
    case Kind::attack:
    case Kind::look:
      return;
  }
}

void World::deliver(std::uint32_t adapter, std::uint32_t flight) {
  const TimePoint awake = std::max(network_.awake(adapter, ground_.now), adapters_[adapter].held_until);
  if (awake > ground_.now) return schedule(awake, Kind::packet, adapter, flight);
  ib::RxPacket packet;
  std::string error;
  Node* reached = nullptr;
  if (network_.decode(flight, packet, error)) {
    join(adapter, flight, packet);
    reached = hand_over(adapter, flight, packet);
  } else if (!error.empty()) {
    ground_.fail(error);
  }
  network_.release(flight);
  for (const std::uint32_t other : std::exchange(joined_, {})) network_.release(other);
  if (reached != nullptr) touched(*reached);
}

/// The node that it has reached; nullptr: none.
Node* World::hand_over(std::uint32_t adapter, std::uint32_t flight, ib::RxPacket& packet) {
  Rendezvous rendezvous(network_, flight);
  if (network_.flight(flight).at != nullptr) {
    packet.rendezvous = &rendezvous;
    packet.rendezvous_bytes = rendezvous.bytes();
  }
  const wire::Bth& bth = packet.packet.headers.bth;
  for (const auto& node : nodes_) {
    if (node->qpn != bth.destination || node->adapter != adapter) continue;
    if (node->pair->hostile && node->side == 1) {
      attacker_.hears(*node->peer, packet);
      if (rng_.chance(0.7)) fire();
    }
    if (node->dead || !node->started) break;
    ground_.log(What::arrived, node->index, static_cast<std::uint64_t>(bth.opcode),
                bth.psn | (std::uint64_t{bth.destination.value} << 24) |
                    (std::uint64_t{bth.ack_request} << 48) | (std::uint64_t{bth.solicited} << 49),
                packet.payload_bytes() | (std::uint64_t{packet.packet.headers.aeth.syndrome} << 32));
    const Flight& under_way = network_.flight(flight);
    if (under_way.hostile && attacker_.is_overtaken(*node, packet)) break;
    if (!under_way.eager || !receive_eager(*node, packet, under_way.connection))
      receive(*node, packet, under_way.hostile);
    if (rendezvous.failed()) lose(*node);
    return node.get();
  }
  return nullptr;
}

/// The observer tells what is owed to the peer, and so nothing of what others send.
void World::receive(Node& node, const ib::RxPacket& packet, bool hostile) {
  if (keeps(node, packet)) return;
  const std::uint32_t before = node.endpoint->receive_psn();
  const std::uint64_t dropped = node.counted(ib::Counter::drop_source);
  const Observer unheard = node.observer;
  if (node.observed() && !hostile) node.observer.arriving(packet, before);
  node.endpoint->receive(packet, ground_.now);
  feed(node);
  // What comes late by a path that was left binds nobody.
  if (node.pair->alternate && node.counted(ib::Counter::drop_source) != dropped) {
    node.observer = unheard;
  } else if (node.observed() && !hostile) {
    node.observer.arrived(packet, before, node.endpoint->receive_psn());
  }
}

/// After each call into an endpoint.
void World::touched(Node& node) {
  node.check_state();
  if (node.dead) return pump_waiting(node);
  if (node.doomed_source.value != 0 && rng_.chance(0.3)) {
    if (Region* region = node.memory.find(node.doomed_source)) region->usable = false;
    node.doomed_source = MemoryKey(0);
  }
  pump(node);
  for (std::size_t i = 0; i < node.queues.size(); ++i) {
    for (; node.consumed[i] != 0; --node.consumed[i])
      schedule(ground_.now +
                   Duration(rng_.below(static_cast<std::uint64_t>(node.queues[i]->repost_delay.count()) + 1)),
               Kind::repost, node.index, i);
  }
  resume_if_drained(node);
  const bool stuck_in_sqe = node.pair->type == ib::QpType::ud && node.broken && !node.flush_commanded;
  if (stuck_in_sqe && !node.resume_scheduled) {
    node.resume_scheduled = true;
    schedule(ground_.now + Duration(rng_.below(100'000)), Kind::resume, node.index);
  }
  pump_waiting(node);
}

/// What `node` held of a window may be free now, also when it died.
void World::pump_waiting(const Node& node) {
  for (const auto& other : nodes_)
    if (other->blocked && other.get() != &node && !other->dead) {
      pump(*other);
      resume_if_drained(*other);
    }
}

void World::resume_if_drained(Node& node) {
  if (node.drained_seen) schedule(ground_.now + Duration(rng_.below(100'000)), Kind::resume, node.index);
  node.drained_seen = false;
}

void World::want_work(Node& node) {
  if (!node.work_scheduled && node.can_send() && node.posted < node.pair->work[node.side] &&
      node.endpoint->outstanding_sends() < node.pair->send_depth) {
    node.work_scheduled = true;
    schedule(ground_.now + Duration(rng_.below(static_cast<std::uint64_t>(node.pair->gap.count()))),
             Kind::work, node.index);
  }
}

void World::pump(Node& node) {
  if (node.dead || !node.started || node.pump_scheduled) return;
  if (network_.awake(node.adapter, ground_.now) > ground_.now) {
    node.pump_scheduled = true;
    return schedule(network_.awake(node.adapter, ground_.now), Kind::pump, node.index);
  }
  node.blocked = false;
  for (std::uint32_t i = 0; i < config_.quantum; ++i) {
    node.may_request = !node.gone() && !node.broken && !node.endpoint->drained();
    if (send_eager(node)) continue;
    const ib::Transmit answer = node.endpoint->transmit(out_, ground_.now);
    if (answer == ib::Transmit::packet) {
      send(node, out_);
      node.check_state();
      continue;
    }
    node.check_state();
    node.blocked = answer == ib::Transmit::blocked;
    // what is owed may wait behind a READ response, until it is known which way that goes
    const bool waits = node.blocked && node.endpoint->window()->undecided();
    if (node.observed() && !waits) accuse(node, node.observer.quiet());
    want_work(node);
    return arm(node);
  }
  node.pump_scheduled = true;
  schedule(ground_.now + kPacketTime * config_.quantum, Kind::pump, node.index);
  arm(node);
}

void World::send(Node& node, const ib::TxPacket& packet, bool eager) {
  const wire::Bth& bth = packet.headers.bth;
  const wire::OpcodeInfo& info = wire::opcode_info(bth.opcode);
  node.idle_expiries = 0;
  ground_.log(What::sent, node.index, static_cast<std::uint64_t>(bth.opcode),
              bth.psn | (std::uint64_t{bth.destination.value} << 24) |
                  (std::uint64_t{bth.ack_request} << 48) | (std::uint64_t{bth.solicited} << 49),
              packet.payload_bytes | (std::uint64_t{packet.headers.aeth.syndrome} << 32));
  check_size(node, packet);
  if (info.request && !node.may_request)
    ground_.fail(format("node %u sends a request (%s) in a state that forbids it", node.index,
                        std::string(info.name).c_str()));
  if (packet.path->source != node.source())
    ground_.fail(format("node %u sends from a foreign address", node.index));
  if (node.observed()) {
    accuse(node, node.observer.sending(packet, node.endpoint->receive_psn(), node.pair->mtu, ground_.now));
    if (node.peer->receives_posted())
      accuse(node, node.observer.exceeds_credit(node.peer->receives->posted, ground_.now));
  }
  std::uint32_t to = 0;
  while (to < config_.adapters && !adapters_[to].has(packet.path->destination)) ++to;
  if (to == config_.adapters) return ground_.fail(format("node %u sends to nowhere", node.index));
  put_on_the_wire(node, to, packet, eager);
}

/// A packet may stand for as many as the path allows, all but the last of them full.
void World::check_size(const Node& node, const ib::TxPacket& packet) {
  const std::uint32_t mtu = node.pair->mtu;
  const std::uint32_t longest = memory_paths_ ? config_.memory.longest_packet : config_.runs.longest_packet;
  const std::uint32_t most = std::max(longest / mtu, 1U);
  const std::uint64_t full = std::uint64_t{packet.packets} * mtu;
  const bool good = packet.packets >= 1 && packet.packets <= most && packet.payload_bytes <= full &&
                    (packet.packets == 1 || packet.payload_bytes > full - mtu);
  if (!good)
    ground_.fail(format("node %u sends %u bytes in a packet that stands for %u", node.index,
                        packet.payload_bytes, packet.packets));
}

/// As samehost/ring_link.h does it: of RC, and where all of it lies in regions.
Memory* World::stays_in(const Node& node, const ib::TxPacket& packet) {
  const std::uint32_t from = config_.memory.rendezvous_from;
  if (!memory_paths_ || from == 0 || packet.payload_bytes < from || packet.again ||
      node.pair->type != ib::QpType::rc)
    return nullptr;
  for (std::uint16_t i = 0; i < packet.fragment_count; ++i)
    if (packet.fragments[i].key.value == 0) return nullptr;
  return &node.memory;
}

/// A packet from or to a node was lost.
void World::lose(Node& node) {
  ++node.losses;
  if (node.peer != nullptr && node.peer != &node) ++node.peer->losses;
}

void World::accuse(const Node& node, const std::string& what) {
  if (!what.empty()) ground_.fail(format("node %u ", node.index) + what);
}

void World::work(Node& node) {
  if (!node.can_send()) return;
  const std::uint64_t burst = rng_.range(1, node.pair->burst);
  for (std::uint64_t i = 0; i < burst && node.posted < node.pair->work[node.side] && !ground_.failed(); ++i) {
    if (node.endpoint->outstanding_sends() >= node.pair->send_depth || !workload_.post(node)) break;
    node.check_state();
    if (!node.can_send()) break;
  }
  touched(node);
}

void World::repost(Node& node, std::uint64_t index) {
  ReceiveQueue& queue = *node.queues[index];
  if (!node.gone() || node.pair->shared_receives) queue.post(rng_);
  ground_.log(What::reposted, node.index, queue.waiting.size());
  if (node.gone()) return;
  node.endpoint->receives_posted();
  touched(node);
}

void World::befall(Node& node) {
  const Incident incident = node.pair->incident;
  if (node.gone() || !node.started || node.flush_commanded) return;
  ground_.log(What::action, node.index, static_cast<std::uint64_t>(incident));
  node.gone_early = incident != Incident::drain;
  if (incident == Incident::kill || incident == Incident::reset) forget_unexpected(node);
  switch (incident) {
    case Incident::kill:
      node.endpoint->reset();  // what the adapter does for a process that died
      node.endpoint.reset();
      node.dead = true;
      break;
    case Incident::flush:
      node.flush_commanded = node.broken = true;
      node.endpoint->flush();
      break;
    case Incident::reset:
      node.endpoint->reset();
      node.stopped = true;
      break;
    case Incident::drain:
      if (node.broken) return;
      node.drain_pending = true;
      node.endpoint->drain();
      break;
    case Incident::reconnect:
      if (node.pair->type == ib::QpType::rc) reconnect(node, *node.peer);
      return;
    default:
      return;
  }
  if (node.gone()) {
    node.sends->abandon();
    for (const auto& receive : node.taken) node.memory.remove(receive->region);
    node.taken.clear();
  }
  touched(node);
}

void World::resume(Node& node) {
  node.resume_scheduled = false;
  if (node.gone() || node.flush_commanded) return;
  if (node.broken && node.pair->type != ib::QpType::ud) return;
  ground_.log(What::action, node.index, 200);
  node.endpoint->resume();
  node.sends->recover();
  node.error_reported = false;
  touched(node);
}

}  // namespace softrnic::sim
