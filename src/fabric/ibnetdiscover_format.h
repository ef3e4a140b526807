// The output of ibnetdiscover (infiniband-diags), of a real fabric or of an emulated one.
//
//   vendid=0x2c9
//   devid=0xd2f0
//   sysimgguid=0xb8599f0300fc6de4                 absent when it is 0
//   switchguid=0xb8599f0300fc6de4(b8599f0300fc6de4)          of adapters caguid=0x…, of routers rtguid=0x…
//   Switch  41 "S-b8599f0300fc6de4"   # "MF0;sw1:MQM8700/U1" enhanced port 0 lid 13 lmc 0
//   [1]     "H-ec0d9a03007d7d0b"[1](ec0d9a03007d7d0b)        # "node1 HCA-2" lid 4 4xHDR
//
// and see net_line.h. With -g there are headings of chassis and external ports, and nodes may stand there
// twice.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "fabric/text_error.h"
#include "fabric/topology.h"

namespace softrnic::fabric {

/// How the tool names a node: "S-", "H-" or "R-" and its GUID in 16 hexadecimal digits.
struct TypedGuid {
  NodeType type = NodeType::channel_adapter;
  Guid guid;
};
std::optional<TypedGuid> parse_typed_guid(std::string_view id);
std::string to_string(const TypedGuid& id);

struct DiscoveredFabric {
  Topology topology;  ///< nodes are named by type and GUID, "S-b8599f0300fc6de4"
  LidMap lids;  ///< what the text tells of them; not checked, a fabric in motion shows the same LID twice
};

/// Both ends of a cable have to tell of it, with the same ports and GUIDs; the rates may differ, as they
/// do in the manual of ibnetdiscover: each port has the rate of its own line. Without one it is 4xSDR.
Expected<DiscoveredFabric, TextError> read_ibnetdiscover(std::string_view text);

/// What ibnetdiscover prints when it is run at port `from` (of a switch: port 0), the LIDs being these
/// and 0 otherwise. `date` is that of the heading: "Tue Jun  5 14:15:10 2007". Nodes stand in its order:
/// those of a type that were found last come first, where search goes breadth first by port numbers and
/// every question is answered in turn (links at QDR cost it one question more, so mixed speeds may
/// differ). Only what can be reached from there through switches is printed. Empty when there is no such
/// port.
std::string write_ibnetdiscover(const Topology& topology, const LidMap& lids, PortAddress from,
                                std::string_view date);

}  // namespace softrnic::fabric
