#include "tests/sim/cm/world.h"

#include "cm/messages.h"

namespace softrnic::sim::cm_world {
namespace {

constexpr int kMaxDelayUs = 2000;  // a packet's life time on these paths
constexpr std::uint64_t kMaxSteps = 200000;

}  // namespace

World::World(std::uint64_t seed, Mutant mutant, bool traces)
    : rng_(seed),
      mutant_(mutant),
      traces_(traces),
      loss_(rng_.chance(0.2) ? 0 : rng_.unit() * 0.2),
      repetition_(rng_.unit() * 0.2),
      crashes_(mutant == Mutant::none && rng_.chance(0.2)) {
  const std::size_t count = rng_.range(2, 3);
  for (std::size_t i = 0; i < count; ++i) nodes_.push_back(std::make_unique<Node>(*this, i));
  if (!rng_.chance(0.5)) return;
  static constexpr Knowledge kAll[] = {Knowledge::none, Knowledge::addresses, Knowledge::ids};
  attacker_ = std::make_unique<Attacker>(*this, rng_.next(), rng_.pick(kAll));
}

void World::fail(const std::string& what) {
  if (failure_.empty()) {
    failure_ = "at " + std::to_string(now_.time_since_epoch().count() / 1000) + " us: " + what;
  }
}

const Side* World::find(std::uint64_t token, bool active) const {
  for (const auto& node : nodes_) {
    if (const Side* const side = node->find(token, active)) return side;
  }
  return nullptr;
}

bool World::is_confirmed(std::uint64_t token) const {
  const Side* const side = find(token, true);
  return side != nullptr && side->established;
}

void World::trace(std::size_t node, const std::function<std::string()>& line) {
  constexpr std::size_t kLines = 200;
  if (!traces_) return;
  if (trace_.size() == kLines) trace_.pop_front();
  trace_.push_back(std::to_string(now_.time_since_epoch().count() / 1000) + " us node " +
                   std::to_string(node) + " " + line() + "\n");
}

void World::after(Duration delay, std::function<void()> action) {
  agenda_.emplace(now_ + delay, std::move(action));
}

void World::post(std::size_t from, const mad::Address& to, Bytes mad) {
  ++tally_.datagrams;
  const std::size_t target = node_of(to.remote);
  if (target >= nodes_.size()) return leave(from, to, mad);
  const std::size_t copies = (rng_.chance(loss_) ? 0U : 1U) + (rng_.chance(repetition_) ? 1U : 0U);
  trace(from, [&] {
    return "sends to " + std::to_string(target) + " (" + std::to_string(copies) + "x) " +
           softrnic::cm::print(mad);
  });
  mad::Mad whole;
  std::copy(mad.begin(), mad.end(), whole.begin());
  if (attacker_) attacker_->overhear(target, whole);
  if (load_be16(&mad[16]) == static_cast<std::uint16_t>(softrnic::cm::Message::rtu))
    ++rtus_[load_be32(&mad[mad::kHeaderBytes])];
  mad::Address seen;
  seen.local = to.remote;
  seen.remote = gid_of(from);
  for (std::size_t i = 0; i < copies; ++i) deliver(target, seen, mad);
}

void World::deliver(std::size_t target, const mad::Address& seen, Bytes mad) {
  std::vector<std::byte> bytes(mad.begin(), mad.end());
  after(some_time(kMaxDelayUs), [this, target, seen, bytes] { nodes_[target]->receive(seen, bytes); });
}

// To an address that is no node's: to the attacker's own, or to one that it has made up.
void World::leave(std::size_t from, const mad::Address& to, Bytes mad) {
  trace(from, [&] { return "sends to " + to.remote.to_string() + " " + softrnic::cm::print(mad); });
  if (Attacker::is_nowhere(to.remote)) {
    const Traffic& traffic = nowhere_[to.remote];
    if (++nowhere_[to.remote].out > 3 * traffic.in)
      fail(to.remote.to_string() + " gets more than three datagrams for each that it sent");
    return;
  }
  mad::Mad whole;
  std::copy(mad.begin(), mad.end(), whole.begin());
  if (attacker_) attacker_->receive(to, from, whole);
}

void World::inject(const wire::Gid& source, std::size_t to, Bytes mad) {
  ++tally_.injected;
  trace(to, [&] { return "gets from " + source.to_string() + ", forged: " + softrnic::cm::print(mad); });
  if (Attacker::is_nowhere(source)) ++nowhere_[source].in;
  mad::Address seen;
  seen.local = gid_of(to);
  seen.remote = source;
  deliver(to, seen, mad);
}

// At all stages of the attempts, which begin within 100 ms, and after them.
void World::plan_attack() {
  for (std::uint64_t left = rng_.range(5, 60); left > 0; --left)
    after(some_time(250000), [this] { attacker_->act(); });
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
  if (attacker_) plan_attack();
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

// It refused after the REP and all its REJs were lost; or the RTUs were, each time, and it did not know its
// peer well enough to repeat the REP for longer. Nobody tells the active side then until it sends something.
bool World::may_not_know(std::uint32_t active, const Side& passive) const {
  constexpr int kRtus = 3;
  const auto rtus = rtus_.find(active);
  const bool said_so = rtus != rtus_.end() && rtus->second >= kRtus;
  return passive.refused || (passive.unreachable && said_so);
}

// Nothing is under way: where one side believes in a connection, the other does too.
void World::check_agreement() {
  for (const auto& node : nodes_) {
    for (const auto& [id, side] : node->sides()) {
      const auto state = node->manager().state(softrnic::cm::Id(id));
      const bool open = !side.destroyed && !side.ended && !side.alive();
      if (open && side.active) fail("id " + std::to_string(id) + ": an attempt has no end");
      if (side.sidr || !side.alive() || Attacker::is_token(side.token)) continue;
      if (state != softrnic::cm::State::established) fail("id " + std::to_string(id) + " is not established");
      const Side* const other = find(side.token, !side.active);
      if (other == nullptr) {
        fail("id " + std::to_string(id) + " is connected to nobody");
      } else if (!other->alive() && !(side.active && may_not_know(id, *other))) {
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

Outcome run_seed(std::uint64_t seed, Mutant mutant) {
  const Outcome outcome = World(seed, mutant, false).run();
  return outcome.failure.empty() ? outcome : World(seed, mutant, true).run();
}

}  // namespace softrnic::sim::cm_world
