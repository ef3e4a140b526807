#include "rnic/work_requests.h"

#include <array>
#include <cerrno>

#include "base/hot_path.h"
#include "base/reason_id.h"
#include "rnic/limits.h"
#include "rnic/queue_pair_init.h"
#include "transport/ib/flush_selector.h"

namespace softrnic::rnic {
namespace {

constexpr auto bit = type_bit;
constexpr std::uint8_t kRc = bit(IBV_QPT_RC);
constexpr std::uint8_t kUc = bit(IBV_QPT_UC);
constexpr std::uint8_t kUd = bit(IBV_QPT_UD);
constexpr std::uint8_t kRaw = bit(IBV_QPT_RAW_PACKET);
constexpr std::uint8_t kXrc = bit(IBV_QPT_XRC_SEND);
constexpr std::uint8_t kStream = bit(kStreamType);
constexpr std::uint8_t kReliable = kRc | kStream;
static_assert(kRaw != 0 && kXrc != 0 && bit(IBV_QPT_XRC_RECV) == 0, "a target has no send queue");

// Headers of rdma-core do not have them before 45 and 44.
constexpr auto kWcFlush = static_cast<ibv_wc_opcode>(8);
constexpr auto kWcAtomicWrite = static_cast<ibv_wc_opcode>(9);
constexpr unsigned kKnownFlags =
    IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE | IBV_SEND_IP_CSUM;

// SEND_WITH_INV: IBTA table 38 has opcodes of it for RC and XRC only.
constexpr std::array<SendRules, ib::kSendOps> kSendRules = {{
    // types                 local  inline read   word   atomic remote imm
    {kReliable | kUc | kXrc, false, true, false, false, false, true, false, IBV_WC_RDMA_WRITE},  // RDMA_WRITE
    {kReliable | kUc | kXrc, false, true, false, false, false, true, true, IBV_WC_RDMA_WRITE},  // … WITH_IMM
    {kReliable | kUc | kUd | kXrc | kRaw, false, true, false, false, false, false, false,
     IBV_WC_SEND},                                                                         // SEND
    {kRc | kUc | kUd | kXrc, false, true, false, false, false, false, true, IBV_WC_SEND},  // SEND_WITH_IMM
    {kReliable | kXrc, false, false, true, false, false, true, false, IBV_WC_RDMA_READ},   // RDMA_READ
    {kReliable | kXrc, false, false, true, true, true, false, false, IBV_WC_COMP_SWAP},    // CMP_AND_SWP
    {kReliable | kXrc, false, false, true, true, true, false, false, IBV_WC_FETCH_ADD},    // FETCH_AND_ADD
    {kReliable | kUc | kXrc, true, false, false, false, false, false, false, IBV_WC_LOCAL_INV},  // LOCAL_INV
    {kReliable | kUc | kXrc, true, false, false, false, false, false, false, IBV_WC_BIND_MW},    // BIND_MW
    {kReliable | kXrc, false, true, false, false, false, false, false, IBV_WC_SEND},  // SEND_WITH_INV
    {kRaw, false, true, false, false, false, false, false, IBV_WC_TSO},               // TSO
    {},                                                                               // DRIVER1
    {},
    {},
    {kRc, false, false, true, false, false, false, false, kWcFlush},     // FLUSH
    {kRc, false, true, true, true, false, true, false, kWcAtomicWrite},  // ATOMIC_WRITE
}};

template <typename... Figures>
Unexpected<Failure> no(int error, ReasonId id, Figures... figures) {
  return Unexpected{refuse(error, id, figures...)};
}

std::uint64_t total_length(const ibv_send_wr& wr) {
  std::uint64_t total = 0;
  for (int i = 0; i < wr.num_sge; ++i) total += wr.sg_list[i].length;
  return total;
}

/// What adapters have too: a header that fits the room made for it, and something in each segment.
SOFTRNIC_OUT_OF_LINE Expected<void, Failure> check_tso(const ibv_send_wr& wr, const SendLimits& limits) {
  const std::uint64_t length = total_length(wr);
  if (wr.tso.hdr == nullptr || wr.tso.hdr_sz == 0 || wr.tso.hdr_sz > limits.max_header || wr.tso.mss == 0)
    return no(EINVAL, ReasonId::tso_limits, wr.tso.hdr_sz, limits.max_header, wr.tso.mss);
  if (length == 0 || length > limits::kMaxTsoBytes)
    return no(EINVAL, ReasonId::local_length, length, limits::kMaxTsoBytes);
  return {};
}

Expected<void, Failure> check_payload(const ibv_send_wr& wr, const SendRules& rules,
                                      const SendLimits& limits) {
  const std::uint64_t length = total_length(wr);
  if (length > limits::kMaxMessageBytes) {
    return no(EINVAL, ReasonId::local_length, length, limits::kMaxMessageBytes);
  }
  if (rules.is_word && (length < kWordBytes || (length != kWordBytes && !rules.is_atomic)))
    return no(EINVAL, ReasonId::bad_atomic_length, length);
  if ((wr.send_flags & IBV_SEND_INLINE) == 0) return {};
  if (!rules.may_inline) return no(EINVAL, ReasonId::bad_send_flags, wr.send_flags, wr.opcode);
  if (length > limits.max_inline) return no(EINVAL, ReasonId::inline_too_long, length, limits.max_inline);
  return {};
}

// What can be known of a bind before its turn comes (ibv_bind_mw(3)).
SOFTRNIC_OUT_OF_LINE Expected<void, Failure> check_local(const ibv_send_wr& wr) {
  constexpr std::uint32_t kKnown = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED;
  if ((wr.send_flags & IBV_SEND_INLINE) != 0)
    return no(EINVAL, ReasonId::bad_send_flags, wr.send_flags, wr.opcode);
  if (wr.opcode != IBV_WR_BIND_MW) return {};
  const ibv_mw* const window = wr.bind_mw.mw;
  if (window == nullptr) return no(EINVAL, ReasonId::null_argument);
  const ibv_mw_bind_info& info = wr.bind_mw.bind_info;
  const bool zero_based = (info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0;  // IBTA o10-36.2.2
  if ((info.mw_access_flags & ~kKnown) != 0 || (zero_based && window->type == IBV_MW_TYPE_1))
    return no(EINVAL, ReasonId::window_access, info.mw_access_flags);
  if (info.mr == nullptr && (info.addr != 0 || info.length != 0))
    return no(EINVAL, ReasonId::window_without_region, info.length, info.addr);
  return {};
}

Expected<void, Failure> check_reads(const ibv_send_wr& wr, const SendLimits& limits) {
  const bool iwarp = limits.type == kStreamType;
  if (limits.max_reads == 0)
    return no(EINVAL, iwarp ? ReasonId::iwarp_no_reads : ReasonId::read_needs_resources, wr.opcode);
  // RFC 5040 5.2.1: the sink of a READ is one buffer.
  if (iwarp && wr.num_sge > 1) return no(EINVAL, ReasonId::iwarp_read_sges, wr.num_sge);
  return {};
}

// It has no payload, and asks for what is written already.
SOFTRNIC_OUT_OF_LINE Expected<void, Failure> check_flush(const ibv_send_wr& wr) {
  if (wr.num_sge != 0) return no(EINVAL, ReasonId::too_many_sge, wr.num_sge, 0);
  if (wr.wr.atomic.compare_add > limits::kMaxMessageBytes)
    return no(EINVAL, ReasonId::local_length, wr.wr.atomic.compare_add, limits::kMaxMessageBytes);
  const auto feth = static_cast<std::uint32_t>(wr.wr.atomic.swap);
  if (!ib::FlushSelector::of(feth).valid()) return no(EINVAL, ReasonId::bad_flush, feth);
  return {};
}

/// What mlx5 and rxe let in, whatever the QP's type, to complete it with IBV_WC_LOC_QP_OP_ERR. Of opcodes
/// that are no message of its kind, or younger, they let in none.
bool fails_in_its_turn(ibv_wr_opcode opcode) {
  return opcode <= IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_SEND_WITH_INV;
}

}  // namespace

const SendRules* send_rules(ibv_wr_opcode opcode) {
  const auto index = static_cast<std::size_t>(opcode);
  return index < kSendRules.size() ? &kSendRules[index] : nullptr;
}

static_assert(operation_bit(IBV_WR_RDMA_WRITE) == IBV_QP_EX_WITH_RDMA_WRITE &&
              operation_bit(IBV_WR_TSO) == IBV_QP_EX_WITH_TSO);
std::uint64_t send_operations(ibv_qp_type type) {
  std::uint64_t operations = 0;
  const bool raw = type == IBV_QPT_RAW_PACKET;
  if (type < IBV_QPT_RC || (type > IBV_QPT_UD && !raw && type != kStreamType && type != IBV_QPT_XRC_SEND))
    return operations;
  for (std::size_t opcode = 0; opcode < kSendRules.size(); ++opcode) {
    const SendRules& rules = kSendRules[opcode];
    if ((rules.types & bit(type)) != 0) operations |= operation_bit(static_cast<ibv_wr_opcode>(opcode));
  }
  return operations;
}

ib::QpType transport_type(ibv_qp_type type) {
  if (type == IBV_QPT_XRC_SEND) return ib::QpType::xrc_initiator;
  if (type == IBV_QPT_XRC_RECV) return ib::QpType::xrc_target;
  if (type == IBV_QPT_RAW_PACKET) return ib::QpType::raw_packet;
  constexpr ib::QpType types[] = {ib::QpType::rc, ib::QpType::uc, ib::QpType::ud};
  return types[type - IBV_QPT_RC];
}

ibv_wc_opcode completion_opcode(ib::SendOp op) { return kSendRules[static_cast<std::size_t>(op)].completion; }

Expected<void, Failure> check_send_request(const ibv_send_wr& wr, const SendLimits& limits) {
  const SendRules* const rules = send_rules(wr.opcode);
  if (rules == nullptr || !knows(limits.type, *rules)) [[unlikely]] {
    if (limits.type == kStreamType) return no(EINVAL, ReasonId::iwarp_no_operation, wr.opcode);
    if (rules != nullptr && sends(limits.type) && fails_in_its_turn(wr.opcode)) return {};
    return no(EINVAL, ReasonId::bad_send_opcode, wr.opcode, limits.type);
  }
  const bool extension =
      rules->is_atomic || rules->has_immediate;  // RFC 7306, where the transport is a stream
  if (!limits.extensions && extension) [[unlikely]]
    return no(EOPNOTSUPP, ReasonId::iwarp_no_extensions, wr.opcode);
  const bool may_fill = limits.type == IBV_QPT_RAW_PACKET;
  if ((wr.send_flags & ~kKnownFlags) != 0 || ((wr.send_flags & IBV_SEND_IP_CSUM) != 0 && !may_fill)) {
    return no(EINVAL, ReasonId::bad_send_flags, wr.send_flags, wr.opcode);
  }
  // Inline payload is gathered at once, from as many pieces as the program likes to name.
  const std::uint32_t max_sges = (wr.send_flags & IBV_SEND_INLINE) != 0 ? limits::kMaxSges : limits.max_sges;
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > max_sges) {
    return no(EINVAL, ReasonId::too_many_sge, wr.num_sge, max_sges);
  }
  if (rules->uses_reads) {
    if (auto ok = check_reads(wr, limits); !ok) return ok;
  }
  if (limits.type == IBV_QPT_UD && wr.wr.ud.ah == nullptr) return no(EINVAL, ReasonId::ud_without_ah);
  if (rules->is_local) [[unlikely]]
    return check_local(wr);
  if (wr.opcode == kWrFlush) [[unlikely]]
    return check_flush(wr);
  if (wr.opcode == IBV_WR_TSO) [[unlikely]] {
    if (auto ok = check_tso(wr, limits); !ok) return ok;
  }
  return check_payload(wr, *rules, limits);
}

Expected<void, Failure> check_receive(const ibv_recv_wr& wr, std::uint32_t occupied,
                                      const ReceiveQueue& queue) {
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > queue.max_sges()) {
    return no(EINVAL, ReasonId::too_many_sge, wr.num_sge, queue.max_sges());
  }
  if (occupied >= queue.max_wrs()) return no(ENOMEM, ReasonId::recv_queue_full, occupied);
  return {};
}

}  // namespace softrnic::rnic
