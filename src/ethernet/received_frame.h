// An Ethernet frame on its way in.
#pragma once

#include "base/bytes.h"

namespace softrnic::ethernet {

inline constexpr std::size_t kMacBytes = 6;
inline constexpr std::size_t kHeaderBytes = 14;  ///< both addresses and the type
inline constexpr std::size_t kVlanTagBytes = 4;  ///< IEEE 802.1Q: TPID and TCI, between address and type
inline constexpr std::size_t kVlanTagAt = 2 * kMacBytes;

/// The first bit of a destination says that it is a group: multicast, or all (IEEE 802, 8.2).
inline bool is_group(const std::byte* mac) { return (mac[0] & std::byte{1}) != std::byte{0}; }

struct ReceivedFrame {
  Bytes bytes;            ///< without FCS, VLAN tags in their place
  bool outgoing = false;  ///< it leaves by the port: a program of this host has sent it
  bool verified = false;  ///< its checksums are known to be right
};

}  // namespace softrnic::ethernet
