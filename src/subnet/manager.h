// The subnet manager (IBTA 14.4): finds out whether it is master, and if so keeps its subnet swept,
// addressed, routed and active. Datagrams and time come in, datagrams and events go out; nothing else is
// known of the subnet.
//
//   discovering --- no other master ---> master --- one of higher priority ---> standby
//        |                                 ^                                       |
//        `--- another is master ---> standby --- HANDOVER, or the master is silent ´
//
// The state machine is that of IBTA 14.4.1; which manager goes before which: the higher priority, then the
// lower GUID.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mad/sm_info.h"
#include "subnet/administrator.h"
#include "subnet/bring_up.h"
#include "subnet/configuration.h"
#include "subnet/datagrams.h"
#include "subnet/discovery.h"
#include "subnet/events.h"
#include "subnet/light_sweep.h"
#include "subnet/multicast_groups.h"
#include "subnet/options.h"
#include "subnet/smp_requests.h"
#include "subnet/trap_filter.h"

namespace softrnic::subnet {

class Manager {
 public:
  /// `port_guid` is that of the port the manager is on. `port` and `events` stay.
  Manager(DatagramPort& port, EventSink& events, Guid port_guid, ManagerOptions options);
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  void start(TimePoint now);
  /// Any datagram that came to QP0 or QP1 of the port; what is not the manager's is left alone.
  void receive(const DatagramAddress& from, const mad::Mad& mad, TimePoint now);
  /// To be called at deadline(), and may be at any time.
  void advance(TimePoint now);
  TimePoint deadline() const;

  /// A heavy sweep, as soon as it may be.
  void request_sweep() { heavy_wanted_ = true; }
  void set_priority(std::uint8_t priority) { options_.priority = priority & 15; }

  mad::SmState state() const { return state_; }
  /// Is master, and has brought the subnet up at least once.
  bool is_up() const { return is_up_; }
  bool is_idle() const { return phase_ == Phase::idle && requests_.is_idle(); }
  const SubnetDatabase& database() const { return database_; }
  const MulticastGroups& groups() const { return groups_; }
  const Administrator& administrator() const { return administrator_; }
  const SmpCounters& counters() const { return requests_.counters(); }

  /// LIDs by port GUID, to be kept from run to run.
  const GuidToLid& lids() const { return lids_; }
  void remember_lids(GuidToLid lids) { lids_ = std::move(lids); }

 private:
  enum class Phase : std::uint8_t { idle, heavy_sweep, light_sweep, bring_up, multicast, handing_over };

  // manager.cc: sweeps
  bool step(TimePoint now);
  bool begin_what_is_due(TimePoint now);
  void begin_heavy_sweep();
  void finish_heavy_sweep(TimePoint now);
  void finish_light_sweep(TimePoint now);
  void configure(Subnet found);
  void finish_bring_up(TimePoint now);
  void keep(Subnet found);
  void set_multicast_limit();
  void abandon_all();

  // manager_election.cc: other managers
  void set_state(mad::SmState state);
  void become_master();
  void become_standby(Guid master, TimePoint now);
  void conclude_discovery(Subnet found, TimePoint now);
  void conclude_sweep(Subnet found, TimePoint now);
  void hand_over(const RemoteManager& to, TimePoint now);
  void acknowledge(Guid former_master);
  bool is_ours(const mad::SmInfo& info) const;
  bool goes_before_us(const mad::SmInfo& info) const;
  const RemoteManager* first_of(const Subnet& subnet, bool (*counts)(mad::SmState)) const;
  bool polls() const { return state_ == mad::SmState::standby || awaits_handover_; }
  void poll(TimePoint now);
  void take_poll(const SmpResult& result);
  void miss_poll();
  void answer_sm_info(const DatagramAddress& from, const mad::Smp& smp, TimePoint now);
  std::uint16_t control(const mad::Smp& smp, TimePoint now);
  void send_priority_trap();
  mad::SmInfo own_info(bool with_key) const;

  // manager_datagrams.cc
  void receive_smp(const DatagramAddress& from, const mad::Smp& smp, TimePoint now);
  void take_trap(const DatagramAddress& from, const mad::Smp& smp, TimePoint now);
  void respond(const DatagramAddress& to, mad::Smp smp, mad::Method method, std::uint16_t status);

  DatagramPort& port_;
  EventSink& events_;
  Guid port_guid_;
  ManagerOptions options_;

  SmpRequests requests_;
  Discovery discovery_;
  LightSweep light_sweep_;
  Configuration configuration_;
  BringUp bring_up_;
  MulticastGroups groups_;
  TrapFilter traps_;

  mad::SmState state_ = mad::SmState::not_active;
  Phase phase_ = Phase::idle;
  SubnetDatabase database_;
  Administrator administrator_;
  GuidToLid lids_;
  bool is_up_ = false;
  bool is_first_ = false;  // the next bring-up is the first one as master
  bool is_incomplete_ = false;
  bool heavy_wanted_ = false;
  TimePoint heavy_not_before_{};
  TimePoint next_sweep_ = kNever;

  Guid polled_;  // another master, or the manager that goes before us
  bool awaits_handover_ = false;
  bool poll_pending_ = false;
  unsigned polls_missed_ = 0;
  TimePoint next_poll_ = kNever;
};

}  // namespace softrnic::subnet
