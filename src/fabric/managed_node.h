// What a node of the fabric keeps for those who manage it: the attributes themselves are its state.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "fabric/link_rate.h"
#include "fabric/types.h"
#include "fabric/vl_arbiter.h"
#include "mad/guid.h"
#include "mad/node_info.h"
#include "mad/port_info.h"
#include "mad/switch_info.h"

namespace softrnic::fabric {

class Engine;

/// How a port was made.
struct PortProfile {
  mad::Guid guid{};                       ///< of an adapter's port; of a switch, of port 0
  std::uint8_t link_widths = 0x03;        ///< bits of mad::LinkWidth; 1X is among them
  std::uint8_t link_speeds = 0x07;        ///< bits of mad::LinkSpeed; SDR is among them
  std::uint8_t extended_link_speeds = 0;  ///< bits of mad::LinkSpeedExt
  mad::Mtu mtu_cap = mad::Mtu::b4096;
  mad::VlCap vl_cap = mad::VlCap::vl0_7;
};

/// How a node was made.
struct NodeProfile {
  std::string description;
  mad::Guid guid{};
  mad::Guid system_image_guid{};
  std::uint32_t vendor_id = 0;  ///< 24 bits
  std::uint16_t device_id = 0;
  std::uint32_t revision = 0;
  bool enhanced_port0 = false;     ///< of a switch
  std::vector<PortProfile> ports;  ///< by number; [0] is a switch's port 0, of adapters not used
};

/// What the SMA of a node knows of one of its ports. Port 0 of a switch and the ports of adapters are
/// *endports*: they have LIDs, a subnet manager and an M_Key (IBTA 3.5.4).
struct ManagedPort {
  static constexpr std::size_t kVlArbitrationEntries = VlArbiter::kEntries;
  using VlArbitrationEntries = std::array<VlWeight, kVlArbitrationEntries>;

  PortId id;
  std::uint8_t number = 0;
  mad::PortInfo info;
  std::vector<std::uint16_t> p_keys;
  std::vector<mad::Guid> guids;  ///< of endports; the first is its own
  VlArbitrationEntries low_priority{};
  VlArbitrationEntries high_priority{};
  bool led = false;
  LinkRate cable = kFastestLink;  ///< what that carries at most

  TimePoint m_key_lease_end = kNever;  ///< of a lease that runs (IBTA 14.2.4.2)
  bool is_being_set = false;           ///< what changes now was asked by a SubnSet(PortInfo)
  mad::PortPhysicalState polls_as = mad::PortPhysicalState::polling;  ///< or sleeps, while no link is up

  // For the PMA; the engine does not count them.
  std::uint8_t physical_errors_of_integrity = 0;  ///< since the latest LocalLinkIntegrityError
  std::uint64_t local_link_integrity_errors = 0;
  std::uint8_t overruns_of_excess = 0;
  std::uint64_t excessive_buffer_overrun_errors = 0;
  std::uint64_t qp1_dropped = 0;

  /// The partition is in the table, and one of both at least is a full member (IBTA 10.9.3).
  bool admits(std::uint16_t p_key) const;
  /// The place in the table of its own entry of that P_Key's partition, the full member's where there are
  /// two.
  std::optional<std::uint16_t> find_p_key(std::uint16_t p_key) const;
  /// The place of what it answers to a packet with that P_Key. 0: it has no entry of the partition.
  std::uint16_t p_key_index_of(std::uint16_t p_key) const { return find_p_key(p_key).value_or(0); }
  /// A LID of this endport.
  bool owns(wire::Lid lid) const;
};

struct ManagedNode {
  NodeId id;
  mad::NodeDescription description;
  mad::NodeInfo info;              ///< port_guid and local_port_num are put in where it is asked for
  mad::SwitchInfo switch_info;     ///< of a switch
  std::vector<ManagedPort> ports;  ///< by number; [0] of an adapter is not used

  bool is_switch() const { return info.node_type == mad::NodeType::switch_node; }
  /// nullptr: it has no such port. An adapter has no port 0.
  ManagedPort* port(std::uint8_t number);
  const ManagedPort* port(std::uint8_t number) const;
  std::span<ManagedPort> endports() { return std::span(ports).subspan(is_switch() ? 0 : 1, endport_count()); }
  std::size_t endport_count() const { return ports.empty() ? 0 : is_switch() ? 1 : ports.size() - 1; }
  /// The endport for packets that came by that port, which exists.
  ManagedPort& endport(std::uint8_t number) { return ports[is_switch() ? 0 : number]; }
  const ManagedPort& endport(std::uint8_t number) const { return ports[is_switch() ? 0 : number]; }
};

/// The limits that all nodes share.
inline constexpr std::uint16_t kEndportPKeys = 128;
inline constexpr std::uint16_t kSwitchPortPKeys = 32;
inline constexpr std::uint8_t kGuidsPerPort = 8;
inline constexpr std::uint16_t kLinearFdbCap = 0xc000;
inline constexpr std::uint16_t kMulticastFdbCap = 0x1000;

/// The state of a node that has just been switched on, as the engine's node `id` is: the ports there are and
/// their states come from the engine. Ports beyond the profile's are like its last; without a node in the
/// engine it has no ports.
ManagedNode make_managed_node(const NodeProfile& profile, const Engine& engine, NodeId id);

// What packets feel of the attributes is told to the engine.
void apply_port_info(Engine& engine, const ManagedNode& node, const ManagedPort& port);
void apply_p_keys(Engine& engine, const ManagedPort& port);
void apply_arbitration(Engine& engine, const ManagedPort& port);
void apply_switch_info(Engine& engine, const ManagedNode& node);
/// All of them.
void apply(Engine& engine, const ManagedNode& node);

}  // namespace softrnic::fabric
