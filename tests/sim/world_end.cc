#include "tests/sim/world.h"

namespace softrnic::sim {

/// The run has ended with `node` still waiting: that needs a reason.
void World::check_hang(const Node& node) {
  if (node.gone() || !node.started || node.broken) return;
  const bool peer_silent = node.peer != nullptr && (node.peer->gone() || node.peer->broken);
  const bool for_ever = node.pair->timeout == 0 && peer_silent;
  if (for_ever) return;
  if (node.posted < node.pair->work[node.side])
    ground_.fail(format(
        "node %u hangs: it has posted %u of %u work requests and waits for room (%s; %u bytes in flight)",
        node.index, node.posted, node.pair->work[node.side], node.blocked ? "blocked" : "idle",
        node.endpoint->window()->in_flight()));
  if (node.endpoint->outstanding_sends() != 0)
    ground_.fail(format("node %u hangs: %u sends are outstanding and nothing is under way", node.index,
                        node.endpoint->outstanding_sends()));
  if (node.drain_pending)
    ground_.fail(format("node %u hangs: it never reports that its send queue is drained", node.index));
}

void World::settle(Node& node) {
  check_hang(node);
  if (node.gone() || !node.started) return;
  if (node.endpoint->outstanding_sends() == 0) node.sends->at_rest();
}

/// To ERR, to RESET, away: everything posted must come back, and nothing after that.
void World::close(Node& node) {
  if (node.dead || node.pair == nullptr) return;
  if (!node.stopped && node.started) {
    ground_.log(What::action, node.index, 300);
    node.flush_commanded = node.broken = true;
    node.endpoint->flush();
    node.check_state();
    if (node.endpoint->outstanding_sends() != 0)
      ground_.fail(format("node %u: %u sends are still outstanding after the flush", node.index,
                          node.endpoint->outstanding_sends()));
    node.sends->at_rest();
    if (!node.taken.empty())
      ground_.fail(format("node %u: receive %llu was taken and not flushed", node.index,
                          static_cast<unsigned long long>(node.taken.front()->id)));
    if (rng_.chance(0.3)) {  // posts in ERR are flushed, too
      workload_.post(node);
      while (node.endpoint->transmit(out_, ground_.now) == ib::Transmit::packet) continue;  // answers it owes
      node.check_state();
      if (node.endpoint->outstanding_sends() != 0)
        ground_.fail(format("node %u: a post in ERR is not flushed", node.index));
      node.sends->at_rest();
    }
  }
  node.endpoint->reset();
  node.stopped = true;
  if (node.endpoint->deadline() != kNever) ground_.fail(format("node %u: a timer runs in RESET", node.index));
  forget_unexpected(node);
  node.endpoint.reset();
  node.dead = true;
}

void World::finish() {
  for (const auto& node : nodes_) settle(*node);
  for (const auto& node : nodes_)
    if (!ground_.failed()) close(*node);
  for (const auto& node : nodes_)
    if (!ground_.failed() && node->sends != nullptr) node->sends->finish();
  for (const Adapter& adapter : adapters_)
    for (const auto& window : adapter.windows)
      if (window->in_flight() != 0)
        ground_.fail(
            format("a path window still counts %u bytes in flight when all is over", window->in_flight()));
}

Result run_config(const Config& config, Mutation mutation, std::size_t trace_capacity) {
  World world(config, mutation, trace_capacity);
  return world.run();
}

Result run_seed(std::uint64_t seed, Mutation mutation, std::size_t trace_capacity) {
  return run_config(Config::from_seed(seed), mutation, trace_capacity);
}

}  // namespace softrnic::sim
