// Ways of packets as JSON: what `softrnic fabric trace` shows.
#pragma once

#include <cstdint>
#include <string>

#include "base/expected.h"
#include "fabricd/fabric_state.h"
#include "fabricd/path_trace.h"
#include "text/json.h"

namespace softrnic::fabricd {

/// {"node": …, "port": …, "lid": …}; without a LID where there is none.
Json endport_json(const FabricState& state, const Endport& endport);
/// A row for each node that the packets leave, with what has decided there.
Json hops_json(const FabricState& state, const PathTrace& trace);
/// What has become of them: "reached", "no VL", or name_of(PathEnd).
std::string_view outcome_of(const PathTrace& trace);

/// From a port to another, or to a multicast LID. A sentence: one of the two is not there.
Expected<std::string, std::string> trace_report(const FabricState& state, std::string_view from,
                                                std::string_view to, std::uint8_t sl);

}  // namespace softrnic::fabricd
