// Whether packets can wait for each other in a circle, so that none moves any more.
//
// A packet holds a buffer of the link it came by while it waits for one of the link it leaves by. Each such
// pair is an edge of the channel dependency graph, a channel being one direction of a link on one VL. Without
// a cycle in it there is no deadlock (Dally and Seitz, "Deadlock-free message routing in multiprocessor
// interconnection networks", 1987). Nothing waits for the link from an adapter, and an adapter takes what
// comes, so only links between switches can be part of a cycle.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "subnet/forwarding_tables.h"
#include "subnet/graph.h"
#include "subnet/route_check.h"

namespace softrnic::subnet {

struct DeadlockOptions {
  /// Switches send and take management packets as well. These are few, so as with other checkers only
  /// adapters count by default: spines of a fat tree that talk to each other turn upwards at a leaf, which is
  /// all that closes circles there.
  EndPorts among = EndPorts::adapters;

  /// The VL of a packet with that SL between those ports of the switch: 0 to 14, or 15, which drops it (IBTA
  /// 7.6.6). Empty: all packets are on VL 0.
  std::function<std::uint8_t(SwitchId sw, std::uint8_t in, std::uint8_t out, std::uint8_t sl)> vl;
  /// Data VLs that links have, 1 to 15; packets on others are dropped. Of no account without `vl`.
  std::uint8_t vls = 15;

  /// The SLs that packets from that port to that LID may have, bit by bit. Empty: SL 0 alone.
  std::function<std::uint16_t(EndPortId source, Lid destination)> service_levels;
};

/// One direction of a link between switches, on one VL.
struct Channel {
  SwitchPort from;  ///< the port that sends
  std::uint8_t vl = 0;

  bool operator==(const Channel&) const = default;
};

/// Channels each of which waits for the next, the last for the first; empty if there is no cycle. Routes that
/// end somewhere else than they should count as far as they go; one that is a loop is a cycle too.
/// Memory: for each link between switches and each pair of VLs in use, a bit for each port of a switch.
std::vector<Channel> find_deadlock(const Graph& graph, const ForwardingTables& tables,
                                   const DeadlockOptions& options = {});

/// "switch 0x… port 3 VL 0, switch 0x… port 4 VL 0": a line, for people.
std::string to_string(const Graph& graph, const std::vector<Channel>& cycle);

}  // namespace softrnic::subnet
