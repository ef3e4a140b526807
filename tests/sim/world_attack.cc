// The attacker in the world, and the packets that wait for their receives as in a lane
// (engine/unexpected_packets.h): those are what an attacker would fill memory with, and hold up others by.
#include "tests/sim/world.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::sim {

namespace {
constexpr Duration kLookAgain = std::chrono::microseconds(100);  ///< as a lane does
}

void World::fire() {
  if (attacks_.shots == config_.attack.shots) return;
  ++attacks_.shots;
  if (overheard_ && rng_.chance(0.1)) {
    schedule(ground_.now + config_.faults.delay, Kind::packet, overheard_to_, network_.inject(*overheard_));
    ++attacks_.packets;
    return;
  }
  const Shot shot = attacker_.shoot(memory_paths_);
  for (const auto& bytes : shot.packets) {
    const std::uint32_t flight = network_.inject(shot.flow, bytes, shot.stands_for, shot.good_icrc);
    schedule(ground_.now + config_.faults.delay, Kind::packet, shot.adapter, flight);
    ++attacks_.packets;
  }
  ground_.log(What::action, shot.adapter, 700, shot.packets.size(),
              shot.packets.front().empty() ? 0 : std::to_integer<std::uint64_t>(shot.packets.front()[0]));
}

void World::fire_again() {
  fire();
  if (attacks_.shots < config_.attack.shots)
    schedule(ground_.now + Duration(rng_.below(static_cast<std::uint64_t>(config_.attack.gap.count())) + 1),
             Kind::attack, 0);
}

/// Now and then somebody on the path remembers a packet, to send it again.
void World::overhear(std::uint32_t to, std::uint32_t flight) {
  const Flight& under_way = network_.flight(flight);
  const auto opcode = static_cast<wire::Opcode>(under_way.bytes[0]);
  if (config_.attack.shots == 0 || under_way.at != nullptr || under_way.eager ||
      wire::opcode_info(opcode).service != wire::Service::rc || !rng_.chance(0.02))
    return;
  overheard_ = under_way;
  overheard_to_ = to;
}

// ---- packets without a receive

bool World::keeps(Node& node, const ib::RxPacket& packet) {
  Adapter& adapter = adapters_[node.adapter];
  engine::UnexpectedPackets& unexpected = *adapter.unexpected;
  if (unexpected.is_expected(node.unexpected, ground_.now,
                             [&] { return node.endpoint->lacks_receive(packet); }))
    return false;
  if (mutation_ == Mutation::hold_lane)
    adapter.held_until = std::max(adapter.held_until, ground_.now) + engine::UnexpectedPackets::kPatience;
  const auto kept = unexpected.keep(node.unexpected, packet, static_cast<std::uint16_t>(node.adapter));
  if (!kept) lose(node);
  if (unexpected.bytes() > kUnexpectedBytes)
    ground_.fail(
        format("adapter %u keeps %zu bytes of packets without a receive", node.adapter, unexpected.bytes()));
  if (!adapter.look_scheduled) schedule(ground_.now + kLookAgain, Kind::look, node.adapter);
  adapter.look_scheduled = true;
  return true;
}

void World::look_after_unexpected(std::uint32_t index) {
  Adapter& adapter = adapters_[index];
  adapter.look_scheduled = false;
  std::vector<Node*> reached;
  const auto node_of = [](engine::UnexpectedQueue& queue) -> Node& {
    return *static_cast<NodeQueue&>(queue).node;
  };
  const bool more = adapter.unexpected->look_again(
      ground_.now,
      [&](engine::UnexpectedQueue& queue, const ib::RxPacket& packet) {
        return node_of(queue).endpoint->lacks_receive(packet);
      },
      [&](engine::UnexpectedQueue& queue, const ib::RxPacket& packet) {
        Node& node = node_of(queue);
        node.endpoint->receive(packet, ground_.now);
        feed(node);
        reached.push_back(&node);
      });
  for (Node* const node : reached) touched(*node);
  if (!adapter.unexpected->any() || adapter.look_scheduled) return;
  adapter.look_scheduled = true;
  schedule(ground_.now + (more ? Duration(1) : kLookAgain), Kind::look, index);
}

/// What a lane does when a receive completes.
void World::feed(Node& node) {
  if (std::exchange(node.received, false)) adapters_[node.adapter].unexpected->fed(node.unexpected);
}

void World::forget_unexpected(Node& node) { adapters_[node.adapter].unexpected->forget(node.unexpected); }

}  // namespace softrnic::sim
