// The firmware of all nodes of a fabric: takes what the engine has for QP0 and QP1, answers what SMI, SMA and
// PMA answer, sends traps, and gives the rest to the managers and hosts that it is for.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "fabric/agent_outbox.h"
#include "fabric/link_training.h"
#include "fabric/managed_node.h"
#include "fabric/management_datagram.h"
#include "fabric/performance_agent.h"
#include "fabric/sinks.h"
#include "fabric/subnet_management_agent.h"
#include "fabric/subnet_management_interface.h"
#include "fabric/trap_queue.h"

namespace softrnic::fabric {

class Engine;

/// Who lives behind the endports. May call the engine and NodeAgents as the engine's sinks may.
class EndportSink {
 public:
  virtual ~EndportSink() = default;
  /// A datagram that the firmware has no answer to: answers and traps for a manager, SMInfo where one runs,
  /// and all classes at QP1 but performance management. A directed route has ended; the hop pointer is what a
  /// manager reads. False: what came in at an adapter goes on to HostSink as it was; all else is dropped.
  virtual bool on_datagram(PortId endport, const Datagram& datagram) = 0;
  virtual void on_event(PortId endport, PortEvent event) = 0;
  /// A link has come up; told of each of its ports. The rate is for the receiver to set, who knows the scale.
  virtual void on_trained(PortId port, const TrainedLink& link) = 0;
};

class NodeAgents final : public ManagementSink, private SmaEvents {
 public:
  /// The engine has this as its ManagementSink, and may be constructed after it. `endports` may be nullptr.
  NodeAgents(Engine& engine, EndportSink* endports);
  NodeAgents(const NodeAgents&) = delete;
  NodeAgents& operator=(const NodeAgents&) = delete;

  /// Firmware for a node that the engine has. False: it has none such, or the firmware is there already.
  bool add(NodeId id, const NodeProfile& profile);
  /// nullptr: no firmware was added.
  const ManagedNode* node(NodeId id) const;
  const ManagedPort* port(PortId id) const;

  /// What the port at the far end of a cable that leaves the engine has enabled, when the link comes up next.
  void set_remote_settings(PortId remote, const LinkSettings& settings);

  // Of those behind an endport. False, or the error: there is no such endport.
  /// Sends a datagram; a SLID of 0 becomes that of the endport. A directed route begins with hop pointer 0,
  /// as a manager writes it, and an answer's with the one it came with.
  /// What a manager asks its own node is answered before this returns.
  bool send(PortId endport, Datagram datagram);
  /// A manager runs there, or no longer: IsSM, and trap 144.
  bool set_sm(PortId endport, bool runs);
  /// Trap 144, or 145, at each endport.
  bool set_description(NodeId id, std::string_view description);
  bool set_system_image_guid(NodeId id, mad::Guid guid);
  /// The cable at that port carries no more from now on. A link that is up goes down, and comes up with what
  /// is left. False: there is no cable.
  bool limit_cable(PortId port, LinkRate most);
  /// A host was sent a packet with a key that it does not have: counted, and trap 257 or 258.
  bool report_bad_p_key(PortId endport, const mad::BadKeyDetails& details);
  bool report_bad_q_key(PortId endport, const mad::BadKeyDetails& details);

  // ManagementSink
  bool on_packet(PortId port, const Packet& packet) override;
  void on_state(PortId port, PortState state) override;
  void on_room(PortId port) override;
  void on_fault(PortId port, PortFault fault, const Packet* packet) override;

  /// Sends traps and takes samples that are due. Times are those of the engine.
  void advance(TimePoint now);
  TimePoint next_deadline() const { return deadlines_.empty() ? kNever : deadlines_.begin()->first; }

 private:
  /// What traps of an endport need, made with the first one.
  struct TrapState {
    TrapQueue queue;
    std::uint64_t next_transaction = 1;
  };
  struct Place {
    ManagedNode* node = nullptr;
    ManagedPort* port = nullptr;
    explicit operator bool() const { return node != nullptr; }
    ManagedPort& endport() const { return node->endport(port->number); }
    bool is_endport() const { return port == &endport(); }
  };
  using Smp = mad::Smp;

  // node_agents.cc
  Place find(PortId id);
  Place find_endport(PortId id);
  TimePoint now() const;
  bool transmit(PortId via, const Datagram& datagram);
  void train_link(Place place);
  std::optional<LinkSettings> settings_behind(Place place) const;

  // node_agents_datagrams.cc
  bool take_smp(Place place, const Datagram& datagram);
  bool take_general(Place place, const Datagram& datagram);
  bool carry_out(const SmpDecision& decision, Place place, const Smp& smp, const Datagram& came);
  bool deliver(Place place, Smp smp, const Datagram& came);
  void answer(Place place, Smp& smp, const Datagram& asked);
  bool hand_over(Place place, const Datagram& datagram);
  bool has_keys(Place place, const Datagram& datagram);
  SmpPlace place_of(Place place, SmpArrival arrival) const;

  // node_agents_traps.cc
  void raise(ManagedPort& endport, const mad::Notice& notice);
  void send_traps(Place place);
  void schedule(Place place);
  void repress_trap(Place endport, std::uint64_t transaction);
  void note_bad_key(Place place, mad::Trap trap, const mad::BadKeyDetails& details);
  void note_switch_bad_p_key(Place place, const Packet& packet);
  void on_event(ManagedNode& node, ManagedPort& endport, PortEvent event) override;
  void on_local_changes(ManagedNode& node, ManagedPort& endport,
                        const mad::LocalChangesDetails& changes) override;

  Engine& engine_;
  EndportSink* endports_;
  AgentOutbox outbox_;
  SubnetManagementAgent sma_;
  PerformanceAgent pma_;
  std::unordered_map<std::uint32_t, ManagedNode> nodes_;             ///< by NodeId
  std::unordered_map<std::uint32_t, TrapState> traps_;               ///< by PortId of the endport
  std::set<std::pair<TimePoint, std::uint32_t>> deadlines_;          ///< at most one an endport
  std::unordered_map<std::uint32_t, TimePoint> deadline_of_;         ///< by PortId
  std::unordered_map<std::uint32_t, LinkSettings> remote_settings_;  ///< by PortId of the remote port
  std::uint32_t psn_ = 0;
};

}  // namespace softrnic::fabric
