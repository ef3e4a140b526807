// The classic BPF program that hands each packet to its lane within the SO_REUSEPORT group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace softrnic::daemon {

/// Where the socket of each lane stands in the group, by lane; kNoPlace: the lane has none.
using Places = std::vector<std::uint32_t>;
inline constexpr std::uint32_t kNoPlace = ~0U;

/// Datagrams of our own that are recognised by length and number, and go where no lane
/// says: see reuseport_order.h.
struct Probe {
  static constexpr std::uint32_t kLength = 33;  ///< no multiple of four, so no RoCEv2 packet has it
  std::uint64_t number = 0;
  std::uint32_t place = 0;         ///< where probes go
  std::uint32_t marker_place = 0;  ///< and where those go whose last byte is kMarker
};
inline constexpr std::uint8_t kMarker = 1;

/// Makes the kernel hand each packet for the group of `fd` to the lane that the top byte of its DestQP says,
/// and packets for lanes without a socket to lane 0, which has one. 0 or a positive errno.
int attach_steering(int fd, const Places& places, const std::optional<Probe>& probe = std::nullopt);

/// Makes the socket take packets for its lane and multicast alone, and locks it in that (SO_LOCK_FILTER): who
/// holds it can neither change that nor attach other steering to its group. He can still detach the group's
/// (SO_DETACH_REUSEPORT_BPF is open to all); then packets are lost, but nobody gets those of others. 0 or a
/// positive errno.
int confine_to_lane(int fd, std::uint32_t lane);

/// Makes the socket drop the probes of that number, and count them among its drops. 0 or a positive errno.
int drop_probes(int fd, std::uint64_t number);
void stop_dropping(int fd);

}  // namespace softrnic::daemon
