// A fabric as text, in whichever format it is.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/expected.h"
#include "fabric/text_error.h"
#include "fabric/topology.h"

namespace softrnic::fabric {

enum class TopologyFormat : std::uint8_t { ibsim, ibnetdiscover };

/// By the first node: ibnetdiscover names nodes by type and GUID ("S-0002c903000a1b2c"), in a net file of
/// ibsim somebody has given them names. Refuses what has no node.
Expected<TopologyFormat, TextError> recognise_format(std::string_view text);

/// Text in either format; see ibsim_format.h and ibnetdiscover_format.h. In time proportional to its length.
Expected<Topology, TextError> read_topology(std::string_view text);

}  // namespace softrnic::fabric
