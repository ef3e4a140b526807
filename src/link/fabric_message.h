// What goes between a lane and the process of its emulated fabric: messages, each a datagram of a
// SOCK_SEQPACKET socket that begins with a FabricHeader.
//
// A message of frames has InfiniBand frames of one port end to end, LRH to VCRC; how long each is says its
// LRH. The VCRC is there and zero: it is of a cable, and this is the way between an adapter and its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/bytes.h"

namespace softrnic::link {

enum class FabricMessageType : std::uint8_t {
  frames = 1,
  join,   ///< of the lane: packets to the group whose GID follows are to come to it by that port
  leave,  ///< they are not any more
};

struct FabricHeader {
  FabricMessageType type{};
  std::uint8_t port = 0;  ///< of the emulated host, device::DeviceInfo::interface_index
  std::uint16_t reserved = 0;
};
static_assert(std::has_unique_object_representations_v<FabricHeader> && sizeof(FabricHeader) == 4);

inline constexpr std::size_t kMaxFabricMessage = 64 * 1024;  ///< bytes
/// Ports of an emulated host.
inline constexpr std::size_t kMaxFabricPorts = 255;
/// Groups that a lane may have joined; one by two ports counts twice. The fabric does not answer, so the lane
/// refuses what is beyond.
inline constexpr std::size_t kMostFabricGroups = 1024;

/// 0 or a positive errno; EAGAIN: the socket takes no more for the present.
int send_fabric_message(int fd, Bytes message);

}  // namespace softrnic::link
