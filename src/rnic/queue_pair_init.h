// What a queue pair is to be made with: checked, and fitted to what its type uses and to what drivers round
// up to.
#pragma once

#include <infiniband/verbs.h>

#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::rnic {

class CompletionQueue;
class Context;
class SharedReceiveQueue;

/// struct ibv_qp_init_attr with our objects in it.
struct QueuePairInit {
  ibv_qp_type type = IBV_QPT_RC;
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;
  ibv_qp_cap cap{};
  bool signal_all = false;
};

/// Whether a QP of this type sends requests, and whether it has receives of its own or of an SRQ that it was
/// given: XRC has the one or neither (IBTA A14).
constexpr bool sends(ibv_qp_type type) { return type != IBV_QPT_XRC_RECV; }
constexpr bool has_receives(ibv_qp_type type) { return type != IBV_QPT_XRC_RECV && type != IBV_QPT_XRC_SEND; }

/// What is made of `wanted`: depths rounded up to powers of two, inline data to 64 bytes at least, SGEs to
/// the same room; with an SRQ there are no receives; nothing that the type has no use for. EINVAL:
/// capabilities beyond the limits, no CQ, objects of another device; EOPNOTSUPP: type. Explained.
Expected<QueuePairInit, Failure> fitted(const Context& context, const QueuePairInit& wanted);

}  // namespace softrnic::rnic
