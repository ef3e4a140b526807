// The ways that packets go from a port to a multicast LID, by what the MulticastForwardingTables of the
// switches say now: a tree, where the manager has done well.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fabricd/fabric_state.h"

namespace softrnic::fabricd {

/// A port by which a copy leaves.
struct MulticastBranch {
  std::uint8_t out_port = 0;                ///< 0: the switch itself is a member
  std::optional<std::uint8_t> vl;           ///< nothing: dropped; of port 0 there is none
  std::optional<fabric::PortAddress> peer;  ///< nothing: no cable
  bool is_up = true;                        ///< the link
};

/// A node that packets come to.
struct MulticastStop {
  fabric::NodeIndex node;
  std::uint8_t in_port = 0;  ///< 0: it begins here
  std::uint32_t links = 0;   ///< crossed until here
  bool comes_again = false;  ///< a copy was here before, and what follows is left out: the table has a loop
  bool is_member = false;    ///< an adapter, or a switch whose port 0 is in its table
  std::vector<MulticastBranch> branches{};
};

struct MulticastTrace {
  std::vector<MulticastStop> stops;  ///< depth first: what follows a stop by its branches comes after it

  bool has_loop() const;
  std::size_t members() const;
};

/// `to` is a multicast LID, `sl` at most 15.
MulticastTrace trace_multicast(const FabricState& state, fabric::PortAddress from, wire::Lid to,
                               std::uint8_t sl);

}  // namespace softrnic::fabricd
