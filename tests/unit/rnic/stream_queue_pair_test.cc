// Queue pairs of an iWARP device: what can be made, which states there are, what can be posted.
#include <cerrno>

#include "base/reason_id.h"
#include "rnic/address_handle.h"
#include "rnic/indirection_table.h"
#include "rnic/stream_states.h"
#include "rnic/work_queue.h"
#include "rnic/work_requests.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

// Rows from, columns to, in the order of kQpStates.
constexpr const char* kIwarpTransitions[] = {
    // RESET INIT RTR RTS SQD SQE ERR
    "xx....x",  // RESET
    "xxx...x",  // INIT
    "x.x...x",  // RTR
    "x..xx.x",  // RTS
    "x...x.x",  // SQD
    "x.....x",  // SQE
    "x...x.x",  // ERR
};

TEST(StreamStates, TheTableIsTheFigure) {
  for (const auto from : kQpStates)
    for (const auto to : kQpStates)
      EXPECT_EQ(static_cast<bool>(check_stream_transition(from, to, IBV_QP_STATE)),
                kIwarpTransitions[from][to] == 'x')
          << from << " to " << to;
}

TEST(StreamStates, WhatIsRefusedIsSaid) {
  const auto to_rts = check_stream_transition(IBV_QPS_INIT, IBV_QPS_RTS, IBV_QP_STATE);
  ASSERT_FALSE(to_rts);
  EXPECT_EQ(to_rts.error().reason.id, ReasonId::iwarp_no_stream);
  const auto with_path = check_stream_transition(IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_AV);
  ASSERT_FALSE(with_path);
  EXPECT_EQ(with_path.error().error, EINVAL);
  EXPECT_EQ(with_path.error().reason.id, ReasonId::iwarp_attributes);
  EXPECT_EQ(with_path.error().reason.figures[1], std::uint64_t{IBV_QP_AV});
  EXPECT_FALSE(check_stream_transition(IBV_QPS_RESET, IBV_QPS_UNKNOWN, IBV_QP_STATE));
}

class StreamQueuePair : public RnicTest {
 protected:
  static std::shared_ptr<device::DeviceInfo> device() {
    auto info = make_device();
    info->kind = device::Kind::iwarp;
    return info;
  }
  void SetUp() override {
    RnicTest::SetUp();
    domain = std::move(*ProtectionDomain::create(iwarp));
    queue = std::move(*CompletionQueue::create(iwarp, {.entries = 16}));
  }
  void TearDown() override {
    EXPECT_TRUE(queue->destroy());
    EXPECT_TRUE(domain->destroy());
    RnicTest::TearDown();
  }
  Expected<std::unique_ptr<QueuePair>, Failure> make(ibv_qp_type type) {
    QueuePairInit wanted;
    wanted.type = type;
    wanted.send_cq = wanted.recv_cq = queue.get();
    wanted.cap = {
        .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 0};
    return QueuePair::create(*domain, wanted);
  }

  Context iwarp{device(), lanes};
  std::unique_ptr<ProtectionDomain> domain;
  std::unique_ptr<CompletionQueue> queue;
};

TEST_F(StreamQueuePair, ThereAreReliableConnectionsAlone) {
  for (const auto type : {IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_RAW_PACKET}) {
    const auto made = make(type);
    EXPECT_EQ(error_of(made), EOPNOTSUPP) << type;
    EXPECT_EQ(only_reason(), ReasonId::iwarp_qp_type);
  }
  auto made = make(IBV_QPT_RC);
  ASSERT_TRUE(made);
  EXPECT_TRUE((*made)->destroy());
}

TEST_F(StreamQueuePair, NeitherAddressesNorRawFramesNorTags) {
  EXPECT_EQ(error_of(AddressHandle::create(*domain, address_of(ipv4(1)))), EOPNOTSUPP);
  EXPECT_EQ(only_reason(), ReasonId::iwarp_no_object);
  WorkQueueInit work;
  work.pd = domain.get();
  work.cq = queue.get();
  EXPECT_EQ(error_of(WorkQueue::create(iwarp, work)), EOPNOTSUPP);
  EXPECT_EQ(only_reason(), ReasonId::iwarp_no_object);
  EXPECT_EQ(error_of(IndirectionTable::create(iwarp, {})), EOPNOTSUPP);
  EXPECT_EQ(only_reason(), ReasonId::iwarp_no_object);
  ibv_srq_attr attributes{.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  EXPECT_EQ(error_of(SharedReceiveQueue::create(*domain, *queue, attributes)), EOPNOTSUPP);
  EXPECT_EQ(only_reason(), ReasonId::iwarp_no_tags);
}

TEST_F(StreamQueuePair, GoesToInitAsLibrdmacmTakesItAndNoFurtherByVerbs) {
  const auto qp = std::move(*make(IBV_QPT_RC));
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  EXPECT_TRUE(qp->modify(attributes, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS));
  QueuePairInit made;
  qp->query(attributes, made);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_INIT);
  attributes.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(error_of(qp->modify(attributes, IBV_QP_STATE)), EINVAL);
  EXPECT_EQ(only_reason(), ReasonId::iwarp_no_stream);
  EXPECT_EQ(error_of(qp->limit_rate({.kilobits_per_second = 10})), EOPNOTSUPP);
  EXPECT_EQ(only_reason(), ReasonId::iwarp_no_rate);
  attributes.qp_state = IBV_QPS_ERR;
  EXPECT_TRUE(qp->modify(attributes, IBV_QP_STATE));
  EXPECT_TRUE(qp->destroy());
}

// siw takes receives in any state, and attributes without a state change none.
TEST_F(StreamQueuePair, AttributesLeaveReceivesInPlace) {
  const auto qp = std::move(*make(IBV_QPT_RC));
  ibv_recv_wr receive{}, *bad = nullptr;
  receive.wr_id = 7;
  ASSERT_TRUE(qp->post_recv(&receive, &bad));
  ibv_qp_attr attributes{};
  EXPECT_TRUE(qp->modify(attributes, IBV_QP_ACCESS_FLAGS));
  attributes.qp_state = IBV_QPS_ERR;
  EXPECT_TRUE(qp->modify(attributes, IBV_QP_STATE));
  ibv_wc wc{};
  ASSERT_EQ(queue->poll(1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 7U);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(StreamQueuePair, HasNoOperationsOfInfiniBandsOwn) {
  SendLimits limits{.type = kStreamType, .max_sges = 4, .max_inline = 0, .max_reads = 1};
  for (const auto opcode : {IBV_WR_SEND_WITH_IMM, IBV_WR_TSO, kWrFlush, kWrAtomicWrite}) {
    ibv_send_wr wr{};
    wr.opcode = opcode;
    const auto checked = check_send_request(wr, limits);
    ASSERT_FALSE(checked) << opcode;
    EXPECT_EQ(checked.error().error, EINVAL);
    EXPECT_EQ(checked.error().reason.id, ReasonId::iwarp_no_operation);
    EXPECT_EQ(send_operations(kStreamType) & operation_bit(opcode), 0U);
  }
  ibv_send_wr read{};
  ibv_sge sges[2]{};
  read.opcode = IBV_WR_RDMA_READ;
  read.sg_list = sges;
  read.num_sge = 1;
  EXPECT_TRUE(check_send_request(read, limits));
  read.num_sge = 2;
  EXPECT_EQ(check_send_request(read, limits).error().reason.id, ReasonId::iwarp_read_sges);
  limits.max_reads = 0;
  EXPECT_EQ(check_send_request(read, limits).error().reason.id, ReasonId::iwarp_no_reads);
  EXPECT_NE(send_operations(kStreamType) & IBV_QP_EX_WITH_SEND_WITH_INV, 0U);
}

TEST_F(StreamQueuePair, TheDeviceSaysSo) {
  const ibv_device_attr attributes = iwarp.device_attributes();
  EXPECT_EQ(attributes.max_sge_rd, 1);
  EXPECT_EQ(attributes.max_ah, 0);
  EXPECT_EQ(attributes.max_mcast_grp, 0);
  EXPECT_EQ(attributes.device_cap_flags & (IBV_DEVICE_XRC | IBV_DEVICE_AUTO_PATH_MIG), 0U);
  const auto port = iwarp.port_attributes(1);
  ASSERT_TRUE(port);
  EXPECT_EQ(port->lid, 0);
  EXPECT_EQ(port->active_mtu, IBV_MTU_4096);
  EXPECT_EQ(port->flags, 0);
  EXPECT_EQ(context.device_attributes().max_sge_rd, static_cast<int>(limits::kMaxSges));
}

TEST_F(StreamQueuePair, OnlyItCanBeGivenAConnection) {
  const auto qp = make_qp(IBV_QPT_RC);
  UniqueFd none;
  EXPECT_EQ(error_of(qp->start_stream(none, {})), EINVAL);
  EXPECT_EQ(only_reason(), ReasonId::iwarp_stream_state);
  EXPECT_EQ(error_of(qp->close_stream()), EINVAL);
  EXPECT_TRUE(qp->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
