// What a queue pair is to be made with: checked, and fitted to what its type uses and to what drivers round
// up to.
#pragma once

#include <infiniband/verbs.h>

#include "base/expected.h"
#include "base/reason.h"
#include "ethernet/toeplitz.h"

namespace softrnic::rnic {

class CompletionQueue;
class Context;
class IndirectionTable;
class SharedReceiveQueue;

/// Whether a QP of this type sends requests, and whether it has receives of its own or of an SRQ that it was
/// given: XRC has the one or neither (IBTA A14).
constexpr bool sends(ibv_qp_type type) { return type != IBV_QPT_XRC_RECV; }
constexpr bool has_receives(ibv_qp_type type) { return type != IBV_QPT_XRC_RECV && type != IBV_QPT_XRC_SEND; }

/// struct ibv_qp_init_attr with our objects in it.
struct QueuePairInit {
  ibv_qp_type type = IBV_QPT_RC;
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;
  ibv_qp_cap cap{};
  bool signal_all = false;
  bool blocks_own_multicast = false;  ///< what it sends to a group that it is in does not come back to it
  // raw packets
  IndirectionTable* table = nullptr;  ///< frames go to its work queues, and nothing is sent
  ethernet::ReceiveHash hash;         ///< to which of them
  std::uint16_t max_tso_header = 0;   ///< bytes
  bool strips_vlan = false;           ///< a VLAN tag is taken out of frames that come in

  bool has_send_queue() const { return sends(type) && table == nullptr; }
  bool takes_receives() const { return has_receives(type) && table == nullptr; }
};

/// What is made of `wanted`: depths rounded up to powers of two, inline data to 64 bytes at least, SGEs to
/// the same room; with an SRQ there are no receives; nothing that the type has no use for. EINVAL:
/// capabilities beyond the limits, no CQ, objects of another device; EOPNOTSUPP: type. Explained.
Expected<QueuePairInit, Failure> fitted(const Context& context, const QueuePairInit& wanted);

}  // namespace softrnic::rnic
