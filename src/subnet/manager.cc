#include "subnet/manager.h"

#include <algorithm>
#include <utility>

#include "subnet/subnet_plan.h"

namespace softrnic::subnet {
namespace {

constexpr Duration kRetry = std::chrono::seconds(1);  ///< of a sweep that found not even its own port

TimePoint later(TimePoint now, Duration interval) {
  return interval > Duration::zero() ? now + interval : kNever;
}

}  // namespace

Manager::Manager(DatagramPort& port, EventSink& events, Guid port_guid, ManagerOptions options)
    : port_(port),
      events_(events),
      port_guid_(port_guid),
      options_(std::move(options)),
      requests_(port, options_.requests),
      discovery_(requests_, events, {options_.ports.m_key, options_.most_nodes, options_.most_ports}),
      light_sweep_(requests_, options_.ports.m_key),
      configuration_(requests_, events, options_.ports.m_key),
      bring_up_(configuration_, events, options_),
      administrator_(port, events, SaView{database_, options_, configuration_.sent()}, groups_) {}

void Manager::start(TimePoint now) {
  set_state(mad::SmState::discovering);
  begin_heavy_sweep();
  advance(now);
}

void Manager::advance(TimePoint now) {
  if (is_up_) administrator_.advance(now);
  requests_.advance(now);
  while (step(now)) requests_.advance(now);
}

TimePoint Manager::deadline() const {
  TimePoint earliest = requests_.deadline();
  if (is_up_) earliest = std::min(earliest, administrator_.deadline());
  if (phase_ != Phase::idle || state_ == mad::SmState::not_active) return earliest;
  if (polls() && !poll_pending_) earliest = std::min(earliest, next_poll_);
  if (state_ == mad::SmState::standby) return earliest;
  if (heavy_wanted_) earliest = std::min(earliest, heavy_not_before_);
  return std::min(earliest, next_sweep_);
}

/// False: answers or time are awaited.
bool Manager::step(TimePoint now) {
  switch (phase_) {
    case Phase::heavy_sweep:
      if (!discovery_.is_done()) return false;
      finish_heavy_sweep(now);
      return true;
    case Phase::light_sweep:
      if (!light_sweep_.is_done()) return false;
      finish_light_sweep(now);
      return true;
    case Phase::bring_up:
    case Phase::multicast:
      if (bring_up_.step()) return true;
      if (!bring_up_.is_done()) return false;
      finish_bring_up(now);
      return true;
    case Phase::handing_over:
      return false;
    case Phase::idle:
      return begin_what_is_due(now);
  }
  return false;
}

bool Manager::begin_what_is_due(TimePoint now) {
  if (state_ == mad::SmState::not_active) return false;
  if (polls() && !poll_pending_ && now >= next_poll_) {
    poll(now);
    return true;
  }
  if (state_ == mad::SmState::standby) return false;
  const bool heavy = (heavy_wanted_ && now >= heavy_not_before_) || (now >= next_sweep_ && is_incomplete_);
  if (heavy) {
    begin_heavy_sweep();
    return true;
  }
  if (!is_up_ || awaits_handover_) return false;
  if (groups_.has_changed()) {
    const std::set<Lid> changed = groups_.take_changed();
    groups_.store_trees(database_, &changed);
    bring_up_.start_multicast(database_);
    phase_ = Phase::multicast;
    return true;
  }
  if (now < next_sweep_) return false;
  light_sweep_.start(database_.subnet);
  phase_ = Phase::light_sweep;
  return true;
}

void Manager::abandon_all() {
  requests_.clear();
  configuration_.abandon();
  bring_up_.abandon();
  poll_pending_ = false;
  phase_ = Phase::idle;
}

void Manager::begin_heavy_sweep() {
  abandon_all();
  heavy_wanted_ = false;
  next_sweep_ = kNever;
  phase_ = Phase::heavy_sweep;
  discovery_.start(&database_.subnet, state_ == mad::SmState::master);
}

void Manager::finish_heavy_sweep(TimePoint now) {
  Subnet found = discovery_.finish();
  phase_ = Phase::idle;
  heavy_not_before_ = now + options_.heavy_sweep_gap;
  for (const Event& change : changes(database_.subnet, found)) events_.notify(change);
  for (const RemoteManager& manager : found.managers)
    events_.notify(event::ManagerFound{manager.info.guid, manager.info});
  const bool has_self = found.self.node != kNoNode && found.is_end_port(found.self);
  if (!has_self) {
    heavy_wanted_ = true;
    heavy_not_before_ = now + std::max(kRetry, options_.heavy_sweep_gap);
    return keep(std::move(found));
  }
  if (state_ == mad::SmState::discovering) return conclude_discovery(std::move(found), now);
  conclude_sweep(std::move(found), now);
}

/// Of a subnet that is not ours to configure.
void Manager::keep(Subnet found) {
  is_up_ = false;
  database_ = {};
  database_.subnet = std::move(found);
  database_.topology = make_graph(database_.subnet);
}

void Manager::configure(Subnet found) {
  database_ = plan_subnet(std::move(found), options_, lids_, events_);
  set_multicast_limit();
  groups_.create_well_known(options_.partitions, options_.ports.subnet_prefix);
  groups_.keep_only(database_.graph());
  (void)groups_.take_changed();
  groups_.store_trees(database_);
  bring_up_.start(database_, is_first_);
  phase_ = Phase::bring_up;
}

/// As many multicast LIDs as the switch with the smallest table has entries for.
void Manager::set_multicast_limit() {
  std::uint32_t entries = Lid::kLastMulticast - Lid::kFirstMulticast + 1U;
  for (const NodeId id : database_.topology.nodes) {
    const std::uint16_t cap = database_.subnet.at(id).switch_info.multicast_fdb_cap;
    if (cap != 0) entries = std::min<std::uint32_t>(entries, cap);
  }
  groups_.set_last_lid(Lid(static_cast<std::uint16_t>(Lid::kFirstMulticast + entries - 1)));
}

void Manager::finish_bring_up(TimePoint now) {
  const bool was_multicast = std::exchange(phase_, Phase::idle) == Phase::multicast;
  if (was_multicast) return;
  std::size_t active = 0;
  database_.subnet.for_each_port([&](NodePort, const PhysicalPort& port) {
    if (port.info.port_state == mad::PortState::active) ++active;
  });
  is_incomplete_ = !database_.subnet.all_answered || configuration_.failures() != 0;
  is_up_ = true;
  next_sweep_ = later(now, options_.sweep_interval);
  events_.notify(event::SubnetUp{active, std::exchange(is_first_, false)});
  administrator_.subnet_changed(now);
}

void Manager::finish_light_sweep(TimePoint now) {
  phase_ = Phase::idle;
  next_sweep_ = later(now, options_.sweep_interval);
  heavy_wanted_ |= light_sweep_.found_change();
  for (const RemoteManager& manager : light_sweep_.managers()) {
    const bool is_standby = manager.info.state == mad::SmState::standby;
    const bool is_master = manager.info.state == mad::SmState::master;
    heavy_wanted_ |= is_ours(manager.info) && (is_master || (is_standby && goes_before_us(manager.info)));
  }
}

}  // namespace softrnic::subnet
