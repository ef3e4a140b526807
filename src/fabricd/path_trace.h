// The way that packets go from a port to a unicast LID, by what the ports and switches on it are set to now:
// LinearForwardingTable, SL to VL. It is read, not sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fabricd/fabric_state.h"

namespace softrnic::fabricd {

/// How a way ends.
enum class PathEnd : std::uint8_t {
  reached,
  no_entry,      ///< the switch's table has no port for the LID
  no_such_port,  ///< it names a port that the switch does not have
  no_cable,      ///< there is no cable at the port
  link_down,     ///< or the link is down
  turns_back,    ///< it would leave where it came in: dropped (PortRcvSwitchRelayErrors)
  loop,          ///< comes to a switch again
  wrong_port,    ///< comes to an end port whose LID it is not
};
/// A few words.
std::string_view name_of(PathEnd end);

/// One node on the way.
struct PathHop {
  fabric::NodeIndex node;
  std::uint8_t in_port = 0;  ///< 0: it begins here
  /// Of a switch, the entry of its table; of the adapter where it begins, its port. kNoPort: none.
  std::uint8_t out_port = fabric::ForwardingTables::kNoPort;
  std::optional<std::uint8_t> vl{};           ///< by which it leaves; nothing: dropped (IBTA 7.6.6)
  std::optional<fabric::PortAddress> peer{};  ///< where it comes in next
};

struct PathTrace {
  PathEnd end = PathEnd::reached;
  std::vector<PathHop> hops;  ///< all nodes but the last, which is reached; none: it stays where it is

  /// Packets of data come to the end: there is a VL on all of the way, too.
  bool carries_data() const;
};

/// `sl` is at most 15.
PathTrace trace_path(const FabricState& state, fabric::PortAddress from, wire::Lid to, std::uint8_t sl);

}  // namespace softrnic::fabricd
