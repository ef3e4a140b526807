#include "rnic/qp_states.h"

#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV};

// IBTA figure 124 (10.3.1): rows from, columns to, in the order of kQpStates.
constexpr const char* kInfinibandTransitions[] = {
    // RESET INIT RTR RTS SQD SQE ERR
    "xx....x",  // RESET
    "xxx...x",  // INIT
    "x..x..x",  // RTR
    "x..xx.x",  // RTS
    "x..xx.x",  // SQD
    "x..x..x",  // SQE
    "x.....x",  // ERR
};

bool in_figure(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  const bool has_sqe = type == IBV_QPT_UC || type == IBV_QPT_UD;
  if (!has_sqe && from == IBV_QPS_SQE && to == IBV_QPS_RTS) return false;
  return kInfinibandTransitions[from][to] == 'x';
}

TEST(QpStates, TheTableIsTheFigure) {
  for (const auto type : kTypes) {
    for (const auto from : kQpStates) {
      for (const auto to : kQpStates) {
        EXPECT_EQ(transition(type, from, to).valid, in_figure(type, from, to))
            << type << ": " << state_name(from) << " to " << state_name(to);
      }
    }
  }
}

// The tables of ibv_modify_qp(3).
TEST(QpStates, RequiredBitsOfTheManPage) {
  const auto required = [](ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
    return transition(type, from, to).required;
  };
  const std::uint32_t rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  EXPECT_EQ(required(IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT),
            IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  EXPECT_EQ(required(IBV_QPT_UC, IBV_QPS_RESET, IBV_QPS_INIT),
            IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  EXPECT_EQ(required(IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT), IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  EXPECT_EQ(required(IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR),
            rtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  EXPECT_EQ(required(IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR), rtr);
  EXPECT_EQ(required(IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR), 0U);
  EXPECT_EQ(required(IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS),
            IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  EXPECT_EQ(required(IBV_QPT_UC, IBV_QPS_RTR, IBV_QPS_RTS), IBV_QP_SQ_PSN);
  EXPECT_EQ(required(IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS), IBV_QP_SQ_PSN);
  // XRC, which the page leaves out, as the kernel has it: each half has RC's attributes of that half
  EXPECT_EQ(required(IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_RTR), rtr);
  EXPECT_EQ(required(IBV_QPT_XRC_RECV, IBV_QPS_INIT, IBV_QPS_RTR),
            required(IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR));
  EXPECT_EQ(required(IBV_QPT_XRC_SEND, IBV_QPS_RTR, IBV_QPS_RTS),
            required(IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS));
  EXPECT_EQ(required(IBV_QPT_XRC_RECV, IBV_QPS_RTR, IBV_QPS_RTS), IBV_QP_SQ_PSN | IBV_QP_TIMEOUT);
  // raw packets, as the kernel has them: a port, and nothing that packets of InfiniBand would have
  EXPECT_EQ(required(IBV_QPT_RAW_PACKET, IBV_QPS_RESET, IBV_QPS_INIT), IBV_QP_PORT);
  EXPECT_EQ(required(IBV_QPT_RAW_PACKET, IBV_QPS_INIT, IBV_QPS_RTR), 0U);
  EXPECT_EQ(required(IBV_QPT_RAW_PACKET, IBV_QPS_RTR, IBV_QPS_RTS), 0U);
  EXPECT_EQ(transition(IBV_QPT_RAW_PACKET, IBV_QPS_RTR, IBV_QPS_RTS).optional, IBV_QP_RATE_LIMIT);
}

TEST(QpStates, WhatDoesNotExistIsNotValid) {
  EXPECT_FALSE(transition(IBV_QPT_DRIVER, IBV_QPS_RESET, IBV_QPS_INIT).valid);
  EXPECT_FALSE(transition(IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_UNKNOWN).valid);
  EXPECT_FALSE(transition(IBV_QPT_RC, IBV_QPS_UNKNOWN, IBV_QPS_INIT).valid);
  EXPECT_EQ(state_name(IBV_QPS_UNKNOWN), "UNKNOWN");
}

TEST(QpStates, TheReasonNamesTheBits) {
  const auto missing = check_transition(IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PORT);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().error, EINVAL);
  EXPECT_EQ(missing.error().reason.id, ReasonId::missing_qp_attributes);
  EXPECT_EQ(missing.error().reason.figures[1], IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
  const auto surplus = check_transition(IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS,
                                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_CAP);
  ASSERT_FALSE(surplus);
  EXPECT_EQ(surplus.error().reason.id, ReasonId::surplus_qp_attributes);
  EXPECT_EQ(surplus.error().reason.figures[1], IBV_QP_TIMEOUT | IBV_QP_CAP);
}

class QpMatrix : public RnicTest {
 protected:
  // Every single transition on a fresh QP, as a program would ask for it.
  void try_all(ibv_qp_type type) {
    for (const auto from : kQpStates) {
      if (from == IBV_QPS_SQE && type != IBV_QPT_UD) continue;  // nothing leads there
      for (const auto to : kQpStates) try_one(type, from, to);
    }
  }

  void try_one(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
    SCOPED_TRACE(testing::Message() << type << ": " << state_name(from) << " to " << state_name(to));
    auto qp = make_qp(type);
    bring(*qp, from);
    explanations().clear();
    Change change = change_to(to, type);
    if (in_figure(type, from, to))
      change.mask = static_cast<int>(transition(type, from, to).required | IBV_QP_STATE);
    const auto result = qp->modify(change.attributes, change.mask);
    const bool valid = in_figure(type, from, to);
    EXPECT_EQ(error_of(result), valid ? 0 : EINVAL);
    EXPECT_EQ(state_of(*qp), valid ? to : from);
    EXPECT_EQ(explanations().size(), valid ? 0U : 1U);
    try_masks(*qp, state_of(*qp), type);
    EXPECT_TRUE(qp->destroy());
  }

  // From here, each way with each required bit left out and each other bit added.
  void try_masks(QueuePair& qp, ibv_qp_state from, ibv_qp_type type) {
    for (const auto to : kQpStates) {
      const Transition& rule = transition(type, from, to);
      if (!rule.valid) continue;
      const Change change = change_to(to, type);
      for (std::uint32_t bit = 2; bit <= IBV_QP_RATE_LIMIT; bit <<= 1) {
        if ((rule.optional & bit) != 0) continue;
        const std::uint32_t mask = (rule.required | IBV_QP_STATE) ^ bit;
        EXPECT_EQ(error_of(qp.modify(change.attributes, static_cast<int>(mask))), EINVAL) << std::hex << bit;
        ASSERT_EQ(state_of(qp), from);
      }
    }
  }
};

TEST_F(QpMatrix, Rc) { try_all(IBV_QPT_RC); }
TEST_F(QpMatrix, Uc) { try_all(IBV_QPT_UC); }
TEST_F(QpMatrix, Ud) { try_all(IBV_QPT_UD); }

}  // namespace
}  // namespace softrnic::rnic::test
