// What the subnet manager knows and has decided: the subnet as it is, and tables as they are to be. The
// subnet administrator answers from it.
#pragma once

#include <vector>

#include "subnet/balanced_routes.h"
#include "subnet/hop_matrix.h"
#include "subnet/pkey_tables.h"
#include "subnet/subnet.h"
#include "subnet/subnet_graph.h"

namespace softrnic::subnet {

struct SubnetDatabase {
  Subnet subnet;
  SubnetGraph topology;
  Routing routing;
  HopMatrix min_hops;  ///< for multicast trees
  PkeyTables p_keys;
  EndPortId self = kNoEndPort;  ///< the manager's own port

  const Graph& graph() const { return topology.graph; }
  /// The end port that a LID belongs to, as a port of a node; node kNoNode without one.
  NodePort port_of(Lid lid) const {
    const EndPortId id = graph().owner_of(lid);
    return id == kNoEndPort ? NodePort{} : topology.port_of(id);
  }
  const PkeyTable& p_keys_of(EndPortId id) const { return p_keys.tables[id.value]; }
  Lid self_lid() const { return self == kNoEndPort ? Lid{} : graph().at(self).base_lid; }
};

}  // namespace softrnic::subnet
