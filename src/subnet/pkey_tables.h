// P_Key tables of end ports, made from partitions (IBTA 14.2.5.7, 10.9).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "subnet/graph.h"
#include "subnet/partitions.h"

namespace softrnic::subnet {

/// P_Keys in a block of P_KeyTable.
inline constexpr std::size_t kPkeyBlock = 32;

/// Entries by index, 0 where there is none; not longer than to the last P_Key.
using PkeyTable = std::vector<std::uint16_t>;

struct PkeyOptions {
  EndPortId self = kNoEndPort;  ///< the subnet manager's port, SELF
  /// Both memberships of one partition may be in a table; otherwise `both` is full (OpenSM:
  /// allow_both_pkeys).
  bool allow_both = false;
};

struct PkeyTables {
  std::vector<PkeyTable> tables;     ///< by end port
  std::vector<EndPortId> overflows;  ///< ports whose table is too short: their last P_Keys are missing
};

/// The last rule for a port counts; but `self` is always a full member of the default partition.
///
/// Index 0 is the default partition's, or that of a partition with index0. As programs hold indexes, the
/// others stay where `before` has them, and new ones take the lowest free index, in the order of the
/// partitions. `before`: tables by end port, as far as they are known.
PkeyTables make_pkey_tables(const Graph& graph, std::span<const Partition> partitions,
                            const PkeyOptions& options, std::span<const PkeyTable> before = {});

}  // namespace softrnic::subnet
