// A topology put into an engine, and which is which in the two.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "fabric/engine.h"
#include "fabric/topology.h"

namespace softrnic::fabric {

/// How fast links are.
struct LinkPace {
  /// Of the rate that width and speed mean; 0: as fast as possible, so that only credits hold a packet.
  double scale = 0;

  Rate of(LinkRate rate) const;
};

struct Wiring {
  std::vector<NodeId> nodes;  ///< by NodeIndex
  std::vector<LinkId> links;  ///< by cable
};

/// The nodes, without cables. A sentence: the engine has no room for them.
Expected<Wiring, std::string> place_nodes(Engine& engine, const Topology& topology,
                                          const BufferSizes& sizes = {});
/// The cables, behind it: links come up at once, and whoever trains them is to be there. A sentence as above.
Expected<void, std::string> connect_cables(Engine& engine, const Topology& topology, const LinkPace& pace,
                                           Wiring& wiring);

}  // namespace softrnic::fabric
