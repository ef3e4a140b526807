// How many lanes there are. A lane's number is the top byte of its queue pairs' numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softrnic {

/// Values of that byte: the size of a table by lane.
inline constexpr std::size_t kLaneNumbers = 256;
/// Lanes of a host: 0 … 254. 0 is the daemon's; the byte 255 is that of multicast QPN 0xffffff.
inline constexpr std::uint32_t kMostLanes = 255;
/// The most that one process may have (SOFTRNIC_LANES).
inline constexpr std::size_t kProcessLanes = 16;

}  // namespace softrnic
