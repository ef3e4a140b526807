// Which port gets which LIDs (IBTA 4.1.3): 2^LMC in a row from a multiple of 2^LMC. Ports keep what they
// have as far as possible, because connections and tables of programs hold LIDs.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/expected.h"
#include "subnet/graph.h"
#include "wire/lid.h"

namespace softrnic::subnet {

struct LidRange {
  Lid base;
  std::uint8_t lmc = 0;

  unsigned count() const { return 1U << lmc; }
  bool operator==(const LidRange&) const = default;
};

/// By port GUID: what was assigned earlier, OpenSM's guid2lid. Ports that are away keep their place in it.
using GuidToLid = std::map<Guid, LidRange>;

struct LidOptions {
  std::uint8_t lmc = 0;  ///< 0 to 7; more is taken as 7
  /// Enhanced switch ports 0 get 2^LMC LIDs too; otherwise all ports 0 get one (OpenSM: lmc_esp0).
  bool lmc_for_switches = false;
  /// Neither earlier assignments nor what ports have now count (OpenSM: reassign_lids).
  bool reassign = false;
};

struct LidAssignment {
  std::vector<LidRange> ranges;  ///< by end port
  GuidToLid guid_to_lid;         ///< to be kept for the next time
};

enum class LidError : std::uint8_t { space_full };

/// A port gets, by rank: what it was assigned earlier; else what it has now; else the lowest free range. What
/// is not legal, too short for the LMC, or taken by a port of higher rank (of lower GUID, among equals), does
/// not count. When LIDs run out, those of ports that are away are given up before that is an error.
Expected<LidAssignment, LidError> assign_lids(const Graph& graph, const LidOptions& options,
                                              const GuidToLid& earlier);

/// Gives the graph's ports what was assigned to them.
void apply_lids(Graph& graph, const LidAssignment& assignment);

}  // namespace softrnic::subnet
