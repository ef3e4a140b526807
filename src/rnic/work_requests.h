// What a work request must look like: opcodes by QP type, flags, SGEs (ibv_post_send(3),
// IBTA 10.8.2 and 11.4.1.1).
#pragma once

#include <infiniband/verbs.h>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/receive_queue.h"
#include "transport/ib/types.h"

namespace softrnic::rnic {

/// Opcodes that headers of rdma-core do not have before 45 and 44. The fields of a FLUSH, for which struct
/// ibv_send_wr has none, stand in wr.atomic: remote_addr, rkey, compare_add (the length), swap
/// (ib::FlushSelector).
inline constexpr auto kWrFlush = static_cast<ibv_wr_opcode>(14);
inline constexpr auto kWrAtomicWrite = static_cast<ibv_wr_opcode>(15);

/// Stands for the type of a queue pair whose transport is a stream (iWARP), where its type says what can be
/// posted; verbs have no such type.
inline constexpr auto kStreamType = static_cast<ibv_qp_type>(5);

/// Of a QP type, or kStreamType, in SendRules::types; 0: it sends nothing.
constexpr std::uint8_t type_bit(ibv_qp_type type) {
  return static_cast<std::uint8_t>(1U << (type - IBV_QPT_RC));
}

/// Everything that varies by send opcode.
struct SendRules {
  std::uint8_t types;      ///< type_bit() of the QP types that know it
  bool is_local;           ///< no message: changes a memory window of this side
  bool may_inline;         ///< has a payload to send
  bool uses_reads;         ///< needs max_rd_atomic
  bool is_word;            ///< moves exactly 8 bytes
  bool is_atomic;          ///< wr.atomic; the word before is written to the SGE
  bool has_remote_memory;  ///< wr.rdma
  bool has_immediate;      ///< imm_data
  ibv_wc_opcode completion;
};

/// Of atomics.
inline constexpr std::uint32_t kWordBytes = 8;

/// nullptr when the opcode does not exist.
const SendRules* send_rules(ibv_wr_opcode opcode);
/// Whether what has these rules can be sent by a QP of this type, or kStreamType.
constexpr bool knows(ibv_qp_type type, const SendRules& rules) { return (rules.types & type_bit(type)) != 0; }

/// The bit of an opcode in enum ibv_qp_create_send_ops_flags; 0: it has none.
constexpr std::uint64_t operation_bit(ibv_wr_opcode opcode) {
  if (opcode <= IBV_WR_TSO) return std::uint64_t{1} << opcode;
  if (opcode == kWrFlush) return std::uint64_t{1} << 11;
  return opcode == kWrAtomicWrite ? std::uint64_t{1} << 12 : 0;
}

/// What can be posted to a QP of this type, or kStreamType: bits of enum ibv_qp_create_send_ops_flags.
std::uint64_t send_operations(ibv_qp_type type);

/// ibv_qp_type to the transport's and the opcode of a send's completion.
ib::QpType transport_type(ibv_qp_type type);
ibv_wc_opcode completion_opcode(ib::SendOp op);

/// What a send request is checked against.
struct SendLimits {
  ibv_qp_type type{};  ///< or kStreamType
  std::uint32_t max_sges = 0;
  std::uint32_t max_inline = 0;
  std::uint8_t max_reads = 0;
  std::uint16_t max_header = 0;  ///< of a TSO
  bool extensions = true;        ///< the peer of a stream knows RFC 7306
};

/// EINVAL, ENOMEM (inline too long) or EOPNOTSUPP (the peer cannot); not explained yet. A message of
/// another QP type passes: the transport fails it.
Expected<void, Failure> check_send_request(const ibv_send_wr& wr, const SendLimits& limits);

/// EINVAL: SGEs; ENOMEM: `occupied` fills the queue. Not explained yet.
Expected<void, Failure> check_receive(const ibv_recv_wr& wr, std::uint32_t occupied,
                                      const ReceiveQueue& queue);

}  // namespace softrnic::rnic
