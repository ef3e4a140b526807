// The other end of a connection of iWARP whose two ends are on one host: what a queue pair needs to reach it
// without TCP.
#pragma once

#include <cstdint>

#include "base/strong.h"

namespace softrnic::iwarp {

struct SameHostPeer {
  Qpn own;  ///< by which the peer knows this side
  Qpn qpn;
  std::uint32_t send_psn = 0;     ///< of this side's first packet, 24 bits
  std::uint32_t receive_psn = 0;  ///< of the peer's
};

}  // namespace softrnic::iwarp
