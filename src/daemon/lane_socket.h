// The UDP sockets on port 4791 that are the lanes.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "base/unique_fd.h"

namespace softrnic::daemon {

/// Bytes that are asked for; a burst of 2,000 packets of 4 KiB.
inline constexpr int kReceiveBuffer = 8 << 20;

struct LaneSocket {
  UniqueFd fd;
  bool dual_stack = true;  ///< false: AF_INET, the host has no IPv6
};

/// A socket bound to port 4791 of all addresses. `shared`: with SO_REUSEPORT, as a lane; else as a probe
/// whether anybody has the port. A positive errno, EADDRINUSE above all.
Expected<LaneSocket, int> open_lane_socket(bool shared);

/// Throws away what waits in the socket. Returns the number of packets, at most `limit`.
std::size_t drain(int fd, std::size_t limit);

/// Leaves every multicast group that the host is in and the socket may have joined: a process that was killed
/// did not leave them itself.
void leave_all_groups(int fd, bool dual_stack);

/// The size of the receive buffer that the kernel granted, in bytes.
std::uint32_t receive_buffer_of(int fd);

}  // namespace softrnic::daemon
