// In which order the sockets of an SO_REUSEPORT group stand, where nobody knows it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/expected.h"

namespace softrnic::daemon {

/// The place of each of `sockets` in the group whose last member is `own`. Each place is sent probes, which
/// the sockets drop; the counts of their drops tell where they came out. Packets may arrive and be dropped
/// meanwhile. The group is left with steering that is good for nothing but to be replaced. A positive errno:
/// nothing came out, or no answer was clear.
Expected<std::vector<std::uint32_t>, int> places_in_group(std::span<const int> sockets, int own);

}  // namespace softrnic::daemon
