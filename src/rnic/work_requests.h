// What a work request must look like: opcodes by QP type, flags, SGEs (ibv_post_send(3),
// IBTA 10.8.2 and 11.4.1.1).
#pragma once

#include <infiniband/verbs.h>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/receive_queue.h"
#include "transport/ib/types.h"

namespace softrnic::rnic {

/// Everything that varies by send opcode.
struct SendRules {
  std::uint8_t types;      ///< bit (type - IBV_QPT_RC) of the QP types that know it
  bool is_local;           ///< no message: changes a memory window of this side
  bool may_inline;         ///< has a payload to send
  bool uses_reads;         ///< needs max_rd_atomic
  bool is_atomic;          ///< exactly one SGE of 8 bytes is written
  bool has_remote_memory;  ///< wr.rdma
  bool has_immediate;      ///< imm_data
  ibv_wc_opcode completion;
};

/// nullptr when the opcode does not exist.
const SendRules* send_rules(ibv_wr_opcode opcode);

/// What can be posted to a QP of this type: bits of enum ibv_qp_create_send_ops_flags.
std::uint64_t send_operations(ibv_qp_type type);

/// ibv_qp_type to the transport's and the opcode of a send's completion.
ib::QpType transport_type(ibv_qp_type type);
ibv_wc_opcode completion_opcode(ib::SendOp op);

/// What a send request is checked against.
struct SendLimits {
  ibv_qp_type type{};
  std::uint32_t max_sges = 0;
  std::uint32_t max_inline = 0;
  std::uint8_t max_reads = 0;
};

/// EINVAL, ENOMEM (inline too long) or EOPNOTSUPP; not explained yet.
Expected<void, Failure> check_send_request(const ibv_send_wr& wr, const SendLimits& limits);

/// EINVAL: SGEs; ENOMEM: `occupied` fills the queue. Not explained yet.
Expected<void, Failure> check_receive(const ibv_recv_wr& wr, std::uint32_t occupied,
                                      const ReceiveQueue& queue);

}  // namespace softrnic::rnic
