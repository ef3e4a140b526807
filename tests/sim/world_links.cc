// What the links at both ends of a network do: packets that stand for several are taken apart, and those that
// come one behind the other are put together (link/packet_segmenter.h, link/packet_coalescer.h). Each has a
// fate of its own on the way.
#include "tests/sim/world.h"
#include "transport/ib/rx_packet.h"
#include "wire/fields.h"

namespace softrnic::sim {

void World::put_on_the_wire(Node& node, std::uint32_t to, const ib::TxPacket& packet, bool eager) {
  if (memory_paths_) return launch(node, to, packet, eager);
  link::for_each_packet(packet, segmenter_, [&](const ib::TxPacket& part) { launch(node, to, part, false); });
}

void World::launch(Node& node, std::uint32_t to, const ib::TxPacket& packet, bool eager) {
  std::string error;
  const std::uint32_t flight = network_.encode(packet, stays_in(node, packet), error);
  if (!error.empty()) ground_.fail(error);
  if (eager) network_.make_eager(flight, node.connection);
  if (mutation_ != Mutation::none) mutate_bytes(mutation_, network_, flight);
  dispatch(node, to, flight);
}

/// Whether the second comes behind the first in one datagram, as the kernel puts them together.
bool World::follows(std::uint32_t flight, std::uint32_t next) {
  const Flight& a = network_.flight(flight);
  const Flight& b = network_.flight(next);
  return b.at == nullptr && b.packets == 1 && !b.eager && a.flow.source == b.flow.source &&
         a.flow.destination == b.flow.destination && a.flow.source_port == b.flow.source_port;
}

/// The packet then stands for all; the time is that of the last one.
void World::join(std::uint32_t adapter, std::uint32_t flight, ib::RxPacket& packet) {
  if (!follows(flight, flight) || !rng_.chance(config_.runs.join)) return;
  coalescer_.begin(packet, network_.body(flight));
  while (!events_.empty()) {
    const Event next = events_.top();
    if (next.kind != Kind::packet || next.subject != adapter || next.at - ground_.now > config_.runs.gap)
      break;
    const auto other = static_cast<std::uint32_t>(next.argument);
    ib::RxPacket alone;
    std::string error;
    if (!follows(flight, other) || !coalescer_.goes_on_with(network_.body(other)) ||
        !network_.decode(other, alone, error))
      break;
    coalescer_.take();
    joined_.push_back(other);
    events_.pop();
    ground_.now = next.at;
  }
  coalescer_.join();
  if (packet.packets > 1) ground_.log(What::action, adapter, 600, packet.packets);
}

// ---- what becomes of them on the way

bool World::is_dark(const Node& node, std::uint32_t flight) const {
  return node.pair->alternate && ground_.now >= TimePoint{} + node.pair->dark_at &&
         network_.flight(flight).flow.source == node.address.source;
}

void World::dispatch(Node& node, std::uint32_t to, std::uint32_t flight) {
  const std::uint32_t from = node.adapter;
  Fate fate = network_.draw_fate(from, to, ground_.now);
  if (is_dark(node, flight)) {
    // Who is armed may not blame the dark: the other path was there.
    if (node.pair->armed && !fate.lost && !fate.corrupted) {
      ground_.log(What::lost, from);
      return network_.release(flight);
    }
    fate.lost = true;
  }
  overhear(to, flight);
  const Bytes bytes = network_.flight(flight).bytes;
  const auto log = [&](What what) {
    ground_.log(what, from, std::to_integer<std::uint64_t>(bytes[0]),
                wire::field::Bth::Psn::load(bytes.data()) |
                    (std::uint64_t{wire::field::Bth::Destination::load(bytes.data())} << 24));
  };
  if (fate.lost || fate.corrupted) lose(node);
  if (fate.lost) {
    log(What::lost);
    return network_.release(flight);
  }
  if (fate.copies > 1) {
    log(What::duplicated);
    schedule(fate.at[1], Kind::packet, to, network_.copy(flight));
  }
  if (fate.corrupted) log(What::corrupted), network_.corrupt(flight);
  if (fate.overtaken) log(What::delayed);
  schedule(fate.at[0], Kind::packet, to, flight);
}

// ---- which way packets take

void World::set_paths(bool memory) {
  memory_paths_ = memory;
  const MemoryPaths& paths = config_.memory;
  for (Adapter& adapter : adapters_)
    for (const auto& window : adapter.windows)
      memory ? window->set_memory(paths.longest_packet, paths.window) : window->set_memory(0, 0);
}

/// First it is unknown which way packets take, then they take the other one.
void World::change_paths(bool decided) {
  if (decided) set_paths(!memory_paths_);
  for (Adapter& adapter : adapters_)
    for (const auto& window : adapter.windows) window->set_undecided(!decided);
  ground_.log(What::action, 0, decided ? 301 : 300, memory_paths_ ? 1 : 0);
  if (!decided) return schedule(ground_.now + Duration(rng_.below(300'000)), Kind::paths, 0, 1);
  for (const auto& node : nodes_)
    if (node->blocked && !node->dead) pump(*node);
  if (++path_changes_ < config_.memory.changes)
    schedule(
        ground_.now + Duration(rng_.below(static_cast<std::uint64_t>(config_.memory.changes_every.count()))),
        Kind::paths, 0, 0);
}

}  // namespace softrnic::sim
