// What a sweep has found of a subnet: its switches, the ports that packets can be sent to, and the links
// between them. Everything is numbered as it was found and lies in arrays, so that tens of thousands of ports
// are walked quickly.
//
// An end port is a port with a LID: each port of a channel adapter or router, and port 0 of each switch,
// through which the switch itself is reached. All that goes for destinations is told of end
// ports alone: where one is attached is the switch and port that its packets leave by in the end, port 0 for
// a switch's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/expected.h"
#include "base/strong.h"
#include "mad/guid.h"
#include "mad/node_info.h"
#include "mad/port_info.h"
#include "wire/lid.h"

namespace softrnic::subnet {

using mad::Guid;
using mad::NodeType;
using mad::PortState;
using wire::Lid;

/// Places in Graph::switches() and Graph::end_ports().
struct SwitchId : Strong<struct SwitchIdTag, std::uint32_t> {
  using Strong::Strong;
};
struct EndPortId : Strong<struct EndPortIdTag, std::uint32_t> {
  using Strong::Strong;
};
inline constexpr SwitchId kNoSwitch{~0U};
inline constexpr EndPortId kNoEndPort{~0U};

/// External ports that a switch has at most; 255 in a forwarding table means no port (IBTA 18.2.4.3).
inline constexpr unsigned kMaxSwitchPorts = 254;
inline constexpr std::uint8_t kMaxLmc = 7;

struct SwitchPort {
  SwitchId sw = kNoSwitch;
  std::uint8_t port = 0;

  bool operator==(const SwitchPort&) const = default;
};

struct Link {
  std::uint32_t rate_mbps = 0;  ///< active width times active speed, in 10^6 bits a second; 0: not known
  PortState state = PortState::initialize;
};

/// A port of a switch. What is at the other end of its cable: another switch, an end port, or nothing known.
struct Port {
  SwitchPort peer;                  ///< sw kNoSwitch: no switch
  EndPortId end_port = kNoEndPort;  ///< the switch's own at port 0
  Link link;

  bool carries_packets() const { return link.state != PortState::down; }
  bool leads_to_switch() const { return peer.sw != kNoSwitch && carries_packets(); }
};

struct Switch {
  Guid guid;  ///< of the node
  Guid port_guid;
  Guid system_image;
  std::uint8_t ports = 0;            ///< external ones, numbered from 1
  bool multicast = true;             ///< SwitchInfo: MulticastFDBCap is not 0
  bool enhanced_port0 = false;       ///< port 0 may have several LIDs (IBTA 14.2.5.4)
  std::uint16_t partition_cap = 32;  ///< entries of port 0's P_Key table
  EndPortId port0 = kNoEndPort;      ///< set by the graph
};

struct EndPort {
  Guid guid;
  Guid node;
  Guid system_image;
  NodeType type = NodeType::channel_adapter;
  std::uint8_t number = 1;           ///< of the port on its node
  std::uint16_t partition_cap = 32;  ///< NodeInfo: PartitionCap, entries of the P_Key table
  // The rest is kept by the graph.
  SwitchPort attached;
  Lid base_lid;  ///< reserved: has none
  std::uint8_t lmc = 0;

  /// 2^LMC, or 0 without a LID
  unsigned lids() const { return base_lid.is_reserved() ? 0 : 1U << lmc; }
  Lid lid(unsigned offset) const { return Lid(static_cast<std::uint16_t>(base_lid.value + offset)); }
};

enum class GraphError : std::uint8_t {
  duplicate_guid,
  bad_port_count,  ///< no port or more than kMaxSwitchPorts
  no_such_port,    ///< number 0 or beyond the switch's ports
  port_taken,      ///< has a peer already
  bad_lid,         ///< not unicast as far as 2^LMC go, not a multiple of 2^LMC, or an LMC beyond 7
};

class Graph {
 public:
  Expected<SwitchId, GraphError> add_switch(const Switch& description);
  Expected<EndPortId, GraphError> add_end_port(const EndPort& description);

  Expected<void, GraphError> connect(SwitchPort a, SwitchPort b, Link link = {});
  Expected<void, GraphError> connect(SwitchPort a, EndPortId b, Link link = {});
  /// Both ends forget each other. Nothing happens to a port without a peer.
  void disconnect(SwitchPort a);
  /// At both ends. The port exists.
  void set_link(SwitchPort a, Link link);

  /// What the port has from now on; a reserved `base` takes its LIDs away. While two ports have the same LID,
  /// as a sweep may find them, it is that of the one that was set last.
  Expected<void, GraphError> set_lids(EndPortId id, Lid base, std::uint8_t lmc);

  std::span<const Switch> switches() const { return switches_; }
  std::span<const EndPort> end_ports() const { return end_ports_; }
  const Switch& at(SwitchId id) const { return switches_[id.value]; }
  const EndPort& at(EndPortId id) const { return end_ports_[id.value]; }
  /// Ports 0 to the last of the switch.
  std::span<const Port> ports(SwitchId id) const {
    return std::span(ports_).subspan(first_port_[id.value], at(id).ports + std::size_t{1});
  }
  const Port& at(SwitchPort port) const { return ports_[index(port)]; }

  /// A number of its own for each port of each switch, below port_count().
  std::size_t index(SwitchPort port) const { return first_port_[port.sw.value] + port.port; }
  std::size_t port_count() const { return ports_.size(); }

  /// Calls `visit(port number, peer)` for each port whose link leads to a switch, in order.
  template <typename Visit>
  void for_each_neighbour(SwitchId id, Visit&& visit) const {
    const std::span<const Port> all = ports(id);
    for (std::size_t port = 1; port < all.size(); ++port) {
      if (all[port].leads_to_switch()) visit(static_cast<std::uint8_t>(port), all[port].peer);
    }
  }

  /// kNo… when there is none.
  SwitchId find_switch(Guid node_guid) const;
  EndPortId find_end_port(Guid port_guid) const;
  EndPortId owner_of(Lid lid) const;
  /// Whether the port is attached to a switch by a link that carries packets.
  bool is_attached(EndPortId id) const;

  /// The highest LID of any port, reserved without any.
  Lid top_lid() const;

 private:
  bool exists(SwitchPort port) const;
  Expected<void, GraphError> check_free(SwitchPort port) const;
  void drop_lids(EndPortId id);

  std::vector<Switch> switches_;
  std::vector<EndPort> end_ports_;
  std::vector<std::uint32_t> first_port_;  // by switch: the place of its port 0 in ports_
  std::vector<Port> ports_;
  std::vector<EndPortId> owners_;  // by LID
  std::unordered_map<Guid, SwitchId> switch_of_guid_;
  std::unordered_map<Guid, EndPortId> end_port_of_guid_;
};

}  // namespace softrnic::subnet
