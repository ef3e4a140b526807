#include <cerrno>

#include "base/reason_id.h"
#include "rnic/inline_tries.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

class QpCreate : public RnicTest {
 protected:
  void expect_refused(QueuePairInit wanted, int error, ReasonId reason) {
    explanations().clear();
    EXPECT_EQ(error_of(QueuePair::create(*pd, wanted)), error);
    EXPECT_EQ(only_reason(), reason);
    EXPECT_EQ(context.counts.qps.users(), 0U);
  }
};

TEST_F(QpCreate, CapabilitiesAreRoundedUpAndReturned) {
  QueuePairInit wanted = init(IBV_QPT_RC);
  wanted.cap = {17, 5, 3, 1, 100};
  auto qp = std::move(*QueuePair::create(*pd, wanted));
  EXPECT_EQ(wanted.cap.max_send_wr, 32U);
  EXPECT_EQ(wanted.cap.max_recv_wr, 8U);
  EXPECT_EQ(wanted.cap.max_send_sge, 6U) << "as many as fit into the room of 100 bytes inline";
  EXPECT_EQ(wanted.cap.max_recv_sge, 1U);
  EXPECT_EQ(wanted.cap.max_inline_data, 100U);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(QpCreate, NothingAskedForMakesOne) {
  QueuePairInit wanted = init(IBV_QPT_UD);
  wanted.cap = {};
  auto qp = std::move(*QueuePair::create(*pd, wanted));
  EXPECT_EQ(wanted.cap.max_send_wr, 1U);
  EXPECT_EQ(wanted.cap.max_recv_wr, 1U);
  EXPECT_EQ(wanted.cap.max_inline_data, 64U);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(QpCreate, TheMaximaCanBeMade) {
  QueuePairInit wanted = init(IBV_QPT_RC);
  wanted.cap = {limits::kMaxQpWrs, limits::kMaxQpWrs, limits::kMaxSges, limits::kMaxSges,
                limits::kMaxInlineBytes};
  auto qp = make_qp(wanted);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(QpCreate, BeyondTheMaxima) {
  std::uint32_t ibv_qp_cap::*const caps[] = {&ibv_qp_cap::max_send_wr, &ibv_qp_cap::max_recv_wr,
                                             &ibv_qp_cap::max_send_sge, &ibv_qp_cap::max_recv_sge};
  for (const auto cap : caps) {
    QueuePairInit wanted = init(IBV_QPT_RC);
    wanted.cap.*cap = 0x7fffffff;
    expect_refused(wanted, EINVAL, ReasonId::bad_cap);
  }
}

// UCX asks for more than there is, and then for less.
TEST_F(QpCreate, InlineDataIsFoundOutByTrying) {
  const auto ask_for = [&](std::uint32_t bytes) {
    QueuePairInit wanted = init(IBV_QPT_RC);
    wanted.cap.max_inline_data = bytes;
    auto made = QueuePair::create(*pd, wanted);
    if (made) {
      EXPECT_TRUE((*made)->destroy());
    }
    return made ? 0 : made.error().error;
  };
  explanations().clear();
  for (const std::uint32_t bytes : {8192U, 4096U, 2048U}) EXPECT_EQ(ask_for(bytes), EINVAL);
  EXPECT_EQ(ask_for(64), 0);
  tell_inline_tries();
  EXPECT_TRUE(explanations().empty()) << "it has found what it looked for";
  EXPECT_EQ(ask_for(4096), EINVAL);
  tell_inline_tries();
  EXPECT_EQ(only_reason(), ReasonId::bad_cap) << "it ends without a queue pair";
  explanations().clear();
  EXPECT_EQ(ask_for(4096), EINVAL);
  EXPECT_EQ(ask_for(4096), EINVAL);
  EXPECT_EQ(only_reason(), ReasonId::bad_cap) << "it insists";
}

TEST_F(QpCreate, TypesAndQueues) {
  expect_refused(init(IBV_QPT_XRC_RECV), EINVAL, ReasonId::xrc_target_without_domain);
  expect_refused(init(IBV_QPT_DRIVER), EOPNOTSUPP, ReasonId::bad_qp_type);
  QueuePairInit wanted = init(IBV_QPT_RC);
  wanted.recv_cq = nullptr;
  expect_refused(wanted, EINVAL, ReasonId::missing_cq);
}

TEST_F(QpCreate, UnreliableConnectionsHaveTheirOwnReceives) {
  auto srq = make_srq();
  QueuePairInit wanted = init(IBV_QPT_UC);
  wanted.srq = srq.get();
  expect_refused(wanted, EINVAL, ReasonId::srq_on_uc);
  EXPECT_TRUE(srq->destroy());
}

TEST_F(QpCreate, QueuesOfAnotherContext) {
  Context rendezvous{make_device(), lanes};
  auto foreign_pd = std::move(*ProtectionDomain::create(rendezvous));
  auto foreign_cq = std::move(*CompletionQueue::create(rendezvous, {.entries = 10}));
  ibv_srq_attr size{4, 1, 0};
  auto foreign_srq = std::move(*SharedReceiveQueue::create(*foreign_pd, size));
  for (const int which : {0, 1, 2}) {
    QueuePairInit wanted = init(IBV_QPT_RC);
    if (which == 0) wanted.send_cq = foreign_cq.get();
    if (which == 1) wanted.recv_cq = foreign_cq.get();
    if (which == 2) wanted.srq = foreign_srq.get();
    expect_refused(wanted, EINVAL, ReasonId::foreign_object);
  }
  EXPECT_TRUE(foreign_srq->destroy());
  EXPECT_TRUE(foreign_cq->destroy());
  EXPECT_TRUE(foreign_pd->destroy());
}

TEST_F(QpCreate, ARefusalOfTheLanesIsPassedOn) {
  lanes.refuse = true;
  QueuePairInit wanted = init(IBV_QPT_RC);
  EXPECT_EQ(error_of(QueuePair::create(*pd, wanted)), EIO);
  EXPECT_TRUE(explanations().empty()) << "whoever refused has explained it";
}

TEST_F(QpCreate, UsedObjectsCannotBeDestroyed) {
  auto srq = make_srq();
  QueuePairInit wanted = init(IBV_QPT_RC);
  wanted.srq = srq.get();
  auto qp = std::move(*QueuePair::create(*pd, wanted));
  EXPECT_EQ(wanted.cap.max_recv_wr, 0U);
  EXPECT_EQ(error_of(pd->destroy()), EBUSY);
  EXPECT_EQ(error_of(cq->destroy()), EBUSY);
  EXPECT_EQ(error_of(srq->destroy()), EBUSY);
  EXPECT_TRUE(qp->destroy());
  EXPECT_TRUE(srq->destroy());
}

TEST_F(QpCreate, NumbersDiffer) {
  auto a = make_qp(IBV_QPT_RC);
  auto b = make_qp(IBV_QPT_UD);
  EXPECT_NE(a->qpn(), b->qpn());
  EXPECT_EQ(a->qpn().lane(), 7);
  EXPECT_TRUE(a->destroy());
  EXPECT_TRUE(b->destroy());
}

TEST_F(QpCreate, Multicast) {
  const wire::Gid group = wire::Gid::from_ipv4_be(0x010000e0);  // 224.0.0.1
  auto rc = make_qp(IBV_QPT_RC);
  EXPECT_EQ(error_of(rc->attach_multicast(group)), EINVAL);
  auto ud = make_qp(IBV_QPT_UD);
  EXPECT_EQ(error_of(ud->attach_multicast(ipv4(1))), EINVAL);
  lanes.lane.refuse_join = true;
  EXPECT_EQ(error_of(ud->attach_multicast(group)), EINVAL);
  EXPECT_FALSE(ud->attached_to(group));
  lanes.lane.refuse_join = false;
  EXPECT_TRUE(ud->attach_multicast(group));
  EXPECT_TRUE(ud->attach_multicast(group));
  EXPECT_TRUE(ud->attached_to(group));
  EXPECT_EQ(error_of(ud->destroy()), EBUSY);
  EXPECT_TRUE(ud->detach_multicast(group));
  EXPECT_EQ(error_of(ud->detach_multicast(group)), EINVAL);
  EXPECT_TRUE(ud->destroy());
  EXPECT_TRUE(rc->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
