// The words that reasons print are those of infiniband/verbs.h.
#include "base/reason_words.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <string_view>

#include "rnic/qp_states.h"

namespace softrnic::rnic {
namespace {

struct Named {
  std::string_view form;
  std::uint64_t value;
  std::string_view name;
};
#define NAMED(form, value) \
  { form, static_cast<std::uint64_t>(value), #value }

constexpr Named kNames[] = {
    NAMED("attrs", IBV_QP_STATE),
    NAMED("attrs", IBV_QP_CUR_STATE),
    NAMED("attrs", IBV_QP_EN_SQD_ASYNC_NOTIFY),
    NAMED("attrs", IBV_QP_ACCESS_FLAGS),
    NAMED("attrs", IBV_QP_PKEY_INDEX),
    NAMED("attrs", IBV_QP_PORT),
    NAMED("attrs", IBV_QP_QKEY),
    NAMED("attrs", IBV_QP_AV),
    NAMED("attrs", IBV_QP_PATH_MTU),
    NAMED("attrs", IBV_QP_TIMEOUT),
    NAMED("attrs", IBV_QP_RETRY_CNT),
    NAMED("attrs", IBV_QP_RNR_RETRY),
    NAMED("attrs", IBV_QP_RQ_PSN),
    NAMED("attrs", IBV_QP_MAX_QP_RD_ATOMIC),
    NAMED("attrs", IBV_QP_ALT_PATH),
    NAMED("attrs", IBV_QP_MIN_RNR_TIMER),
    NAMED("attrs", IBV_QP_SQ_PSN),
    NAMED("attrs", IBV_QP_MAX_DEST_RD_ATOMIC),
    NAMED("attrs", IBV_QP_PATH_MIG_STATE),
    NAMED("attrs", IBV_QP_CAP),
    NAMED("attrs", IBV_QP_DEST_QPN),
    NAMED("attrs", IBV_QP_RATE_LIMIT),
    NAMED("mig", IBV_MIG_MIGRATED),
    NAMED("mig", IBV_MIG_REARM),
    NAMED("mig", IBV_MIG_ARMED),
    NAMED("access", IBV_ACCESS_LOCAL_WRITE),
    NAMED("access", IBV_ACCESS_REMOTE_WRITE),
    NAMED("access", IBV_ACCESS_REMOTE_READ),
    NAMED("access", IBV_ACCESS_REMOTE_ATOMIC),
    NAMED("access", IBV_ACCESS_MW_BIND),
    NAMED("access", IBV_ACCESS_ZERO_BASED),
    NAMED("access", IBV_ACCESS_ON_DEMAND),
    NAMED("access", IBV_ACCESS_HUGETLB),
    NAMED("access", IBV_ACCESS_RELAXED_ORDERING),
    NAMED("flags", IBV_SEND_FENCE),
    NAMED("flags", IBV_SEND_SIGNALED),
    NAMED("flags", IBV_SEND_SOLICITED),
    NAMED("flags", IBV_SEND_INLINE),
    NAMED("flags", IBV_SEND_IP_CSUM),
    NAMED("wr", IBV_WR_RDMA_WRITE),
    NAMED("wr", IBV_WR_RDMA_WRITE_WITH_IMM),
    NAMED("wr", IBV_WR_SEND),
    NAMED("wr", IBV_WR_SEND_WITH_IMM),
    NAMED("wr", IBV_WR_RDMA_READ),
    NAMED("wr", IBV_WR_ATOMIC_CMP_AND_SWP),
    NAMED("wr", IBV_WR_ATOMIC_FETCH_AND_ADD),
    NAMED("wr", IBV_WR_LOCAL_INV),
    NAMED("wr", IBV_WR_BIND_MW),
    NAMED("wr", IBV_WR_SEND_WITH_INV),
    NAMED("wr", IBV_WR_TSO),
    NAMED("wr", IBV_WR_DRIVER1),
    NAMED("rereg", IBV_REREG_MR_CHANGE_TRANSLATION),
    NAMED("rereg", IBV_REREG_MR_CHANGE_PD),
    NAMED("rereg", IBV_REREG_MR_CHANGE_ACCESS),
    NAMED("srq", IBV_SRQ_MAX_WR),
    NAMED("srq", IBV_SRQ_LIMIT),
    {"type", IBV_QPT_RC, "RC"},
    {"type", IBV_QPT_UC, "UC"},
    {"type", IBV_QPT_UD, "UD"},
    {"type", IBV_QPT_RAW_PACKET, "RAW_PACKET"},
    {"type", IBV_QPT_XRC_SEND, "XRC_SEND"},
    {"type", IBV_QPT_XRC_RECV, "XRC_RECV"},
    {"mtu", IBV_MTU_256, "256"},
    {"mtu", IBV_MTU_4096, "4096"},
    {"errno", ECONNREFUSED, "Connection refused"},
};

TEST(ReasonWords, AreThoseOfVerbs) {
  for (const Named& named : kNames) EXPECT_EQ(figure_text(named.form, named.value), named.name);
}

TEST(ReasonWords, NameEveryState) {
  for (unsigned state = IBV_QPS_RESET; state <= IBV_QPS_ERR; ++state) {
    EXPECT_EQ(figure_text("state", state), state_name(static_cast<ibv_qp_state>(state)));
  }
}

TEST(ReasonWords, JoinBitsAndShowWhatHasNoName) {
  EXPECT_EQ(figure_text("attrs", IBV_QP_STATE | IBV_QP_DEST_QPN), "IBV_QP_STATE|IBV_QP_DEST_QPN");
  EXPECT_EQ(figure_text("access", 1 | 1 << 19), "IBV_ACCESS_LOCAL_WRITE|0x80000");
  EXPECT_EQ(figure_text("access", 0), "0");
  EXPECT_EQ(figure_text("state", 99), "99");
}

}  // namespace
}  // namespace softrnic::rnic
