#include "rnic/stream_states.h"

#include <array>
#include <cerrno>

#include "base/reason_id.h"

namespace softrnic::rnic {
namespace {

/// What an iWARP queue pair takes note of, and what librdmacm sets on its way to INIT.
constexpr std::uint32_t kAttributes = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
                                      IBV_QP_ACCESS_FLAGS | IBV_QP_MAX_QP_RD_ATOMIC |
                                      IBV_QP_MAX_DEST_RD_ATOMIC;

constexpr std::uint8_t bit(ibv_qp_state state) { return static_cast<std::uint8_t>(1U << state); }
constexpr std::uint8_t kEnds = bit(IBV_QPS_RESET) | bit(IBV_QPS_ERR);

/// By the state that it comes from: where to. What has ended may be told to close all the same: the peer may
/// have been faster (rdma_disconnect).
constexpr std::array<std::uint8_t, kQpStates> kWays = {
    kEnds | bit(IBV_QPS_INIT),                     // RESET
    kEnds | bit(IBV_QPS_INIT) | bit(IBV_QPS_RTR),  // INIT
    kEnds | bit(IBV_QPS_RTR),                      // RTR
    kEnds | bit(IBV_QPS_RTS) | bit(IBV_QPS_SQD),   // RTS
    kEnds | bit(IBV_QPS_SQD),                      // SQD
    kEnds,                                         // SQE
    kEnds | bit(IBV_QPS_SQD),                      // ERR
};

}  // namespace

constexpr StateTable kStreamStateRules = {{
    // sends  recvs  fl.snd fl.rcv hears
    {false, true, false, false, false},   // RESET
    {false, true, false, false, false},   // INIT
    {false, true, false, false, false},   // RTR
    {true, true, false, false, true},     // RTS
    {false, false, false, false, true},   // SQD: no more is begun
    {false, false, false, false, false},  // SQE: it is never there
    {true, true, true, true, false},      // ERR
}};

Expected<void, Failure> check_stream_transition(ibv_qp_state from, ibv_qp_state to, std::uint32_t mask) {
  if (const std::uint32_t unknown = mask & ~kAttributes; unknown != 0)
    return Unexpected{refuse(EINVAL, ReasonId::iwarp_attributes, mask, unknown)};
  const bool known = static_cast<unsigned>(to) < kQpStates;
  if (known && (kWays[from] & bit(to)) != 0) return {};
  if (to == IBV_QPS_RTS) return Unexpected{refuse(EINVAL, ReasonId::iwarp_no_stream, to)};
  return Unexpected{refuse(EINVAL, ReasonId::bad_qp_transition, from, to)};
}

}  // namespace softrnic::rnic
