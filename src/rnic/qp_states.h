// The states of a queue pair: one table of every transition, with the attributes it requires and allows for
// each type (IBTA 10.3.1, 11.2.5.2 and ibv_modify_qp(3)).
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::rnic {

inline constexpr int kQpStates = 7;  ///< IBV_QPS_RESET … IBV_QPS_ERR

/// Masks of enum ibv_qp_attr_mask. IBV_QP_STATE is always allowed.
struct Transition {
  bool valid = false;
  std::uint32_t required = 0;
  std::uint32_t optional = 0;
};

/// The table entry; not valid for types and states that do not exist.
const Transition& transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to);

/// What belongs to the half of a connection that an XRC QP has not. Programs set it all the same, and
/// ib_uverbs passes it over.
constexpr std::uint32_t passed_over(ibv_qp_type type) {
  if (type == IBV_QPT_XRC_SEND) return IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  return type == IBV_QPT_XRC_RECV ? IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY : 0;
}

/// Whether `mask` may take a QP of `type` in state `from` to `to`; else EINVAL with a
/// reason that names the bits.
Expected<void, Failure> check_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to,
                                         std::uint32_t mask);

/// What the states allow.
struct StateRules {
  bool accepts_sends;     ///< ibv_post_send
  bool accepts_receives;  ///< ibv_post_recv
  bool flushes_sends;     ///< what is posted is completed with WR_FLUSH_ERR
  bool flushes_receives;
  bool hears;  ///< packets are processed
};
using StateTable = std::array<StateRules, kQpStates>;  ///< by ibv_qp_state
extern const StateTable kStateRules;

/// "RTS"
std::string_view state_name(ibv_qp_state state);

}  // namespace softrnic::rnic
