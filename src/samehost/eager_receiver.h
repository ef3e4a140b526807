// Takes the short messages of local peers that a ring holds.
#pragma once

#include <cstdint>

#include "samehost/packet_ring.h"

namespace softrnic::samehost {

class EagerReceiver {
 public:
  /// From a lane of this host. Valid during the call. False: it is to be handed over as its packet.
  virtual bool eager(const RingEagerSend& message, std::uint8_t lane) = 0;

 protected:
  ~EagerReceiver() = default;
};

}  // namespace softrnic::samehost
