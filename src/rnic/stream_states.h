// The states of an iWARP queue pair. There are fewer ways between them than InfiniBand has, and what
// connects it is no attribute: rdma_cm takes it to RTS. As Linux's siw, which RFC 5040's verbs leave free:
//
//   RESET, INIT, RTR   idle; receives may be posted
//   RTS                connected
//   SQD                is being closed: what is posted is finished, then its side of the stream is ended
//   ERR                the connection has ended
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/qp_states.h"

namespace softrnic::rnic {

/// Whether `mask` may take the queue pair from `from` to `to`; else EINVAL.
Expected<void, Failure> check_stream_transition(ibv_qp_state from, ibv_qp_state to, std::uint32_t mask);

extern const StateTable kStreamStateRules;

}  // namespace softrnic::rnic
