// A packet(7) socket on one netdev: whole Ethernet frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"

namespace softrnic::link {

struct PacketSocket {
  UniqueFd fd;
  std::array<std::byte, 6> address{};  ///< of the netdev
  bool loops = false;                  ///< the netdev `lo`: what leaves by it comes in by it

  enum class Use : std::uint8_t { send, receive };
  /// EPERM: without CAP_NET_RAW. Not explained.
  static Expected<void, Failure> check_permission();
  /// EPERM: without CAP_NET_RAW; ENODEV and the like; EOPNOTSUPP: the netdev is no Ethernet. Not explained.
  static Expected<PacketSocket, Failure> open(std::uint32_t interface_index, Use use);
};

}  // namespace softrnic::link
