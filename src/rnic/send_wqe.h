// A send work request of verbs as it lies in the send queue.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "base/strong.h"
#include "transport/ib/endpoint.h"

namespace softrnic::rnic {

/// What a queue pair adds to its work requests.
struct SendDefaults {
  ibv_qp_type type{};
  bool signal_all = false;
  Qpn qpn;
  std::uint32_t qkey = 0;  ///< UD
};

/// Fills `slot` from `wr`, which check_send_request() has let through. Inline data is copied.
void fill_send(ib::SendSlot& slot, const ibv_send_wr& wr, const SendDefaults& defaults);

}  // namespace softrnic::rnic
