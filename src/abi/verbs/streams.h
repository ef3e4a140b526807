// What librdmacm.so.1 has done to queue pairs of iWARP: see Sibling.
#pragma once

#include <infiniband/verbs.h>

#include "control/stream_grant.h"

namespace softrnic::abi {

/// 0, or errno: EINVAL (no queue pair of iWARP, or one that is connected or was), ENOTSOCK, EPROTOTYPE (not
/// TCP), ENOTCONN (the peer may have been faster), EMFILE, ENOMEM. Takes `fd` on success only; then the queue
/// pair is in RTS, or further if the connection has ended already.
int start_stream(ibv_qp* qp, int fd, const control::StreamGrant* grant);

/// 0 where start_stream() would not refuse the queue pair, else EINVAL.
int may_start_stream(ibv_qp* qp);

/// In good order, if the queue pair with that number has the connection of this token: what is posted is
/// finished.
void close_stream(const ibv_context* context, std::uint32_t qpn, std::uint64_t token);

/// The same to the error state.
void abort_stream(const ibv_context* context, std::uint32_t qpn, std::uint64_t token);

}  // namespace softrnic::abi
