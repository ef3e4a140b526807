#include "tests/sim/cm/world.h"

#include "cm/messages.h"

namespace softrnic::sim::cm_world {
namespace {

constexpr int kMaxDelayUs = 2000;  // a packet's life time on these paths
constexpr std::uint64_t kMaxSteps = 200000;

}  // namespace

World::World(std::uint64_t seed, Mutant mutant)
    : rng_(seed),
      mutant_(mutant),
      loss_(rng_.chance(0.2) ? 0 : rng_.unit() * 0.2),
      repetition_(rng_.unit() * 0.2),
      crashes_(mutant == Mutant::none && rng_.chance(0.2)) {
  const std::size_t count = rng_.range(2, 3);
  for (std::size_t i = 0; i < count; ++i) nodes_.push_back(std::make_unique<Node>(*this, i));
}

void World::fail(const std::string& what) {
  if (failure_.empty()) {
    failure_ = "at " + std::to_string(now_.time_since_epoch().count() / 1000) + " us: " + what;
  }
}

bool World::is_confirmed(std::uint64_t token) const {
  for (const auto& node : nodes_) {
    const Side* const side = node->find(token, true);
    if (side != nullptr && side->established) return true;
  }
  return false;
}

void World::trace(std::size_t node, const std::string& line) {
  constexpr std::size_t kLines = 200;
  if (trace_.size() == kLines) trace_.pop_front();
  trace_.push_back(std::to_string(now_.time_since_epoch().count() / 1000) + " us node " +
                   std::to_string(node) + " " + line + "\n");
}

void World::after(Duration delay, std::function<void()> action) {
  agenda_.emplace(now_ + delay, std::move(action));
}

void World::post(std::size_t from, const mad::Address& to, Bytes mad) {
  ++tally_.datagrams;
  const std::size_t copies = (rng_.chance(loss_) ? 0U : 1U) + (rng_.chance(repetition_) ? 1U : 0U);
  const std::size_t target = node_of(to.remote);
  trace(from, "sends to " + std::to_string(target) + " (" + std::to_string(copies) + "x) " +
                  softrnic::cm::print(mad));
  std::vector<std::byte> bytes(mad.begin(), mad.end());
  mad::Address seen;
  seen.local = to.remote;
  seen.remote = gid_of(from);
  for (std::size_t i = 0; i < copies; ++i) {
    after(some_time(kMaxDelayUs),
          [this, target, seen, bytes] { nodes_[target]->manager().receive(seen, bytes, now_); });
  }
}

void World::plan() {
  const std::uint64_t attempts = rng_.range(5, 25);
  for (std::uint64_t token = 1; token <= attempts; ++token) {
    const std::size_t from = rng_.below(nodes_.size());
    const std::size_t to = rng_.below(nodes_.size());  // itself included
    const bool sidr = rng_.chance(0.15);
    after(some_time(100000), [this, token, from, to, sidr] {
      sidr ? nodes_[from]->resolve(token, to) : nodes_[from]->connect(token, to);
    });
  }
  if (rng_.chance(0.3)) {
    const std::size_t victim = rng_.below(nodes_.size());
    after(some_time(120000), [this, victim] { nodes_[victim]->kill(static_cast<int>(rng_.below(2))); });
  }
  if (crashes_) {
    const std::size_t victim = rng_.below(nodes_.size());
    after(some_time(120000), [this, victim] { nodes_[victim]->crash(); });
  }
}

void World::run_to_quiet() {
  for (std::uint64_t step = 0; failure_.empty(); ++step) {
    if (step > kMaxSteps) return fail("no end in sight");
    TimePoint next = agenda_.empty() ? kNever : agenda_.begin()->first;
    Node* due = nullptr;
    for (const auto& node : nodes_) {
      if (node->manager().deadline() >= next) continue;
      next = node->manager().deadline();
      due = node.get();
    }
    if (next == kNever) return;
    now_ = std::max(now_, next);
    if (due != nullptr) {
      due->manager().advance(now_);
      continue;
    }
    const auto action = std::move(agenda_.begin()->second);
    agenda_.erase(agenda_.begin());
    action();
  }
}

// Nothing is under way: where one side believes in a connection, the other does too. It may have refused after the REP
// and all its REJs were lost; then nobody tells the active side until it sends something.
void World::check_agreement() {
  for (const auto& node : nodes_) {
    for (const auto& [id, side] : node->sides()) {
      const auto state = node->manager().state(softrnic::cm::Id(id));
      const bool open = !side.destroyed && !side.ended && !side.alive();
      if (open && side.active) fail("id " + std::to_string(id) + ": an attempt has no end");
      if (side.sidr || !side.alive()) continue;
      if (state != softrnic::cm::State::established) fail("id " + std::to_string(id) + " is not established");
      const Side* other = nullptr;
      for (const auto& peer : nodes_) {
        if (other == nullptr) other = peer->find(side.token, !side.active);
      }
      if (other == nullptr) {
        fail("id " + std::to_string(id) + " is connected to nobody");
      } else if (!other->alive() && !(side.active && other->refused)) {
        fail("id " + std::to_string(id) + " is connected, its peer is not");
      }
    }
  }
}

void World::check_end() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    softrnic::cm::Manager& manager = nodes_[i]->manager();
    const std::string who = "node " + std::to_string(i);
    if (manager.size() != 0) fail(who + " keeps " + std::to_string(manager.size()) + " ids");
    if (manager.deadline() != kNever) fail(who + " has a deadline");
  }
}

Outcome World::run() {
  plan();
  run_to_quiet();
  if (failure_.empty() && !crashes_) check_agreement();
  loss_ = repetition_ = 0;
  for (const auto& node : nodes_) node->wind_up();
  run_to_quiet();
  for (const auto& node : nodes_) {
    for (const auto& [id, side] : node->sides()) {
      if (side.alive()) fail("id " + std::to_string(id) + " was disconnected and has no end");
    }
    node->destroy_all();
  }
  run_to_quiet();
  if (failure_.empty()) check_end();
  Outcome outcome{failure_, {}, tally_};
  if (!failure_.empty()) {
    for (const std::string& line : trace_) outcome.trace += line;
  }
  return outcome;
}

Outcome run_seed(std::uint64_t seed, Mutant mutant) { return World(seed, mutant).run(); }

}  // namespace softrnic::sim::cm_world
