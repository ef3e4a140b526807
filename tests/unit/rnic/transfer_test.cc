// Two queue pairs and the transport between them, end to end.
#include <arpa/inet.h>

#include <cerrno>
#include <numeric>

#include "base/reason_id.h"
#include "tests/unit/rnic/transfer_fixture.h"

namespace softrnic::rnic::test {
namespace {

TEST_F(TransferTest, SendWithImmediate) {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    connect(type);
    receive(9, 8192);
    auto wr = request(IBV_WR_SEND_WITH_IMM, 5000);
    wr.imm_data = htonl(0x01020304);
    const ibv_wc sent = run(wr);
    EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
    EXPECT_EQ(sent.opcode, IBV_WC_SEND);
    EXPECT_EQ(sent.wr_id, 77U);
    EXPECT_EQ(sent.qp_num, a->qpn().value);
    const ibv_wc got = one(*recv_cq);
    EXPECT_EQ(got.status, IBV_WC_SUCCESS);
    EXPECT_EQ(got.opcode, IBV_WC_RECV);
    EXPECT_EQ(got.byte_len, 5000U);
    EXPECT_EQ(got.wr_id, 9U);
    EXPECT_EQ(got.qp_num, b->qpn().value);
    EXPECT_EQ(got.wc_flags, unsigned{IBV_WC_WITH_IMM});
    EXPECT_EQ(ntohl(got.imm_data), 0x01020304U);
    EXPECT_TRUE(arrived(5000));
    EXPECT_TRUE(a->destroy());
    EXPECT_TRUE(b->destroy());
    a.reset();
    b.reset();
    to.fill(0);
  }
}

// The peer has the message and its ACK has arrived: only what has not been answered is flushed.
TEST_F(TransferTest, WhatIsAcknowledgedIsNotFlushed) {
  for (const bool acknowledged : {true, false}) {
    connect(IBV_QPT_RC);
    receive(9, 100);
    lanes.lane.hold_packets = true;
    lanes.lane.takes_arrived = acknowledged;
    ibv_send_wr wr = request(IBV_WR_SEND, 100);
    ibv_send_wr* bad = nullptr;
    ASSERT_TRUE(a->post_send(&wr, &bad));
    bring(*a, IBV_QPS_ERR);
    EXPECT_EQ(one(*cq).status, acknowledged ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(poll(*recv_cq).size(), acknowledged ? 1U : 0U);
    EXPECT_TRUE(a->destroy());
    EXPECT_TRUE(b->destroy());
    a.reset();
    b.reset();
    lanes.lane.release();
  }
}

TEST_F(TransferTest, WriteAndWriteWithImmediate) {
  connect(IBV_QPT_RC);
  EXPECT_EQ(run(request(IBV_WR_RDMA_WRITE, 8192)).opcode, IBV_WC_RDMA_WRITE);
  EXPECT_TRUE(arrived(8192));
  EXPECT_TRUE(poll(*recv_cq).empty());
  receive(3, 0);
  auto wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, 3000);
  EXPECT_EQ(run(wr).opcode, IBV_WC_RDMA_WRITE);
  const ibv_wc got = one(*recv_cq);
  EXPECT_EQ(got.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(got.byte_len, 3000U);
}

TEST_F(TransferTest, ZeroLengthWriteWithImmediateNeedsNoKey) {
  connect(IBV_QPT_RC);
  receive(3, 0);
  auto wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, 0);
  sge = {0, 0, 0};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.rdma = {0, 0};
  EXPECT_EQ(run(wr).status, IBV_WC_SUCCESS);
  EXPECT_EQ(one(*recv_cq).byte_len, 0U);
}

TEST_F(TransferTest, Read) {
  connect(IBV_QPT_RC);
  std::iota(to.begin(), to.end(), std::uint8_t{100});
  const ibv_wc done = run(request(IBV_WR_RDMA_READ, 6000));
  EXPECT_EQ(done.opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(done.byte_len, 6000U);
  EXPECT_TRUE(arrived(6000));
}

TEST_F(TransferTest, Atomics) {
  connect(IBV_QPT_RC);
  auto* const target = reinterpret_cast<std::uint64_t*>(to.data());
  auto* const result = reinterpret_cast<std::uint64_t*>(from.data());
  *target = 40;
  auto wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
  const auto aim = [&](std::uint64_t compare_add, std::uint64_t swap) {
    wr.wr.atomic = {reinterpret_cast<std::uintptr_t>(to.data()), compare_add, swap, to_mr->key().value};
  };
  aim(2, 0);
  EXPECT_EQ(run(wr).opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(*result, 40U);
  EXPECT_EQ(*target, 42U);
  wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  aim(42, 7);
  EXPECT_EQ(run(wr).opcode, IBV_WC_COMP_SWAP);
  EXPECT_EQ(*result, 42U);
  EXPECT_EQ(*target, 7U);
  aim(42, 8);
  run(wr);
  EXPECT_EQ(*target, 7U);
}

TEST_F(TransferTest, InlineIsCopiedAtOnceAndNeedsNoKey) {
  connect(IBV_QPT_RC);
  receive(1, 64);
  lanes.lane.hold_packets = true;
  auto wr = request(IBV_WR_SEND, 64);
  wr.send_flags |= IBV_SEND_INLINE;
  ibv_sge pieces[3] = {sge, sge, sge};
  for (int i = 0; i < 3; ++i) {
    pieces[i].addr += static_cast<std::uint64_t>(i) * 20;
    pieces[i].length = i == 2 ? 24 : 20;
    pieces[i].lkey = 0xbad;
  }
  wr.sg_list = pieces;
  wr.num_sge = 3;
  ibv_send_wr* bad = nullptr;
  ASSERT_TRUE(a->post_send(&wr, &bad));
  from.fill(0);
  lanes.lane.release();
  EXPECT_EQ(one(*cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(one(*recv_cq).byte_len, 64U);
  EXPECT_EQ(to[63], 64);
}

TEST_F(TransferTest, UnsignaledSendsAreSilent) {
  connect(IBV_QPT_RC);
  auto wr = request(IBV_WR_RDMA_WRITE, 8);
  wr.send_flags = 0;
  ibv_send_wr* bad = nullptr;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(a->post_send(&wr, &bad));
  EXPECT_TRUE(poll(*cq).empty());
}

TEST_F(TransferTest, Datagrams) {
  connect(IBV_QPT_UD);
  auto ah = std::move(*AddressHandle::create(*pd, address_of(ipv4(1))));
  receive(4, 4096 + 40);
  auto wr = request(IBV_WR_SEND_WITH_IMM, 4096);
  wr.imm_data = htonl(5);
  wr.wr.ud = {ah.get(), b->qpn().value, 0x1234};
  EXPECT_EQ(run(wr).status, IBV_WC_SUCCESS);
  ah->destroy();
  const ibv_wc got = one(*recv_cq);
  EXPECT_EQ(got.byte_len, 4096U + 40);
  EXPECT_EQ(got.wc_flags, unsigned{IBV_WC_GRH | IBV_WC_WITH_IMM});
  EXPECT_EQ(got.src_qp, a->qpn().value);
  EXPECT_EQ(got.slid, 0);
  EXPECT_EQ(got.sl, 0xa) << "a UDP and an IPv4 header, as adapters for Ethernet say it";
  EXPECT_TRUE(std::equal(from.begin(), from.begin() + 4096, to.begin() + 40));
  ASSERT_FALSE(lanes.lane.headers_sent.empty());
}

TEST_F(TransferTest, ABadDatagramStopsTheSendQueueOnly) {
  connect(IBV_QPT_UD);
  auto ah = std::move(*AddressHandle::create(*pd, address_of(ipv4(1))));
  auto wr = request(IBV_WR_SEND, 4097);
  wr.wr.ud = {ah.get(), b->qpn().value, 0x1234};
  EXPECT_EQ(run(wr).status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(state_of(*a), IBV_QPS_SQE);
  wr = request(IBV_WR_SEND, 8);
  wr.wr.ud = {ah.get(), b->qpn().value, 0x1234};
  EXPECT_EQ(run(wr).status, IBV_WC_WR_FLUSH_ERR);
  Change resume;
  resume.attributes.qp_state = IBV_QPS_RTS;
  resume.mask = IBV_QP_STATE;
  EXPECT_TRUE(a->modify(resume.attributes, resume.mask));
  receive(1, 100);
  EXPECT_EQ(run(wr).status, IBV_WC_SUCCESS);
  EXPECT_EQ(one(*recv_cq).byte_len, 48U);
  ah->destroy();
}

TEST_F(TransferTest, ABadKeyFailsBothSides) {
  connect(IBV_QPT_RC);
  receive(5, 8);
  auto wr = request(IBV_WR_RDMA_WRITE, 8);
  wr.wr.rdma.rkey ^= 1;
  const ibv_wc done = run(wr);
  EXPECT_EQ(done.status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(done.vendor_err, static_cast<std::uint32_t>(ReasonId::got_nak_access));
  EXPECT_EQ(state_of(*a), IBV_QPS_ERR);
  EXPECT_EQ(state_of(*b), IBV_QPS_ERR);
  EXPECT_EQ(one(*recv_cq).status, IBV_WC_WR_FLUSH_ERR);
  const AsyncEvent event = next_event();
  EXPECT_EQ(event.type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(event.target, b.get());
  EXPECT_EQ(b->explained()->latest().reason.id, ReasonId::nak_rkey_unknown);
  EXPECT_EQ(lanes.lane.changes.back(), IBV_QPS_ERR);
}

TEST_F(TransferTest, AnUnknownLkeyIsALocalError) {
  connect(IBV_QPT_RC);
  auto wr = request(IBV_WR_RDMA_WRITE, 8);
  sge.lkey = 0xbad;
  const ibv_wc done = run(wr);
  EXPECT_EQ(done.status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(done.vendor_err, static_cast<std::uint32_t>(ReasonId::lkey_unknown));
  EXPECT_EQ(state_of(*a), IBV_QPS_ERR);
  EXPECT_EQ(state_of(*b), IBV_QPS_RTS);
}

TEST_F(TransferTest, RegionsCannotBeInvalidatedByPeers) {
  connect(IBV_QPT_RC);
  receive(1, 64);
  auto wr = request(IBV_WR_SEND_WITH_INV, 8);
  wr.invalidate_rkey = to_mr->key().value;
  EXPECT_NE(run(wr).status, IBV_WC_SUCCESS);
  EXPECT_NE(KeyTable::process().find(to_mr->key()), nullptr);
}

TEST_F(TransferTest, SilentPeerExceedsTheRetries) {
  connect(IBV_QPT_RC);
  lanes.lane.lose_packets = true;
  auto wr = request(IBV_WR_RDMA_WRITE, 8);
  ibv_send_wr* bad = nullptr;
  ASSERT_TRUE(a->post_send(&wr, &bad));
  for (int i = 0; i < 100 && state_of(*a) == IBV_QPS_RTS; ++i)
    lanes.lane.advance(std::chrono::milliseconds(100));
  EXPECT_EQ(one(*cq).status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(state_of(*a), IBV_QPS_ERR);
  EXPECT_GT(a->counters()[ib::Counter::timeouts], 0U);
}

// The network may carry less than the path MTU, or the peer may be silent: the one who reads it can tell.
TEST_F(TransferTest, RetriesThatRunOutOnAFullPacketAreExplainedWithTheMtu) {
  struct Case {
    std::uint32_t length, known_mtu;
    ReasonId expected;
  };
  for (const Case& c : {Case{1024, 9000, ReasonId::retry_exceeded_full},
                        Case{1023, 9000, ReasonId::retry_exceeded},  // a short packet
                        Case{1024, 0, ReasonId::retry_exceeded}}) {  // no network in between
    if (a) {
      EXPECT_TRUE(a->destroy() && b->destroy());
    }
    connect(IBV_QPT_RC);
    lanes.lane.lose_packets = true;
    lanes.lane.known.mtu = c.known_mtu;
    explanations().clear();
    auto wr = request(IBV_WR_RDMA_WRITE, c.length);
    ibv_send_wr* bad = nullptr;
    ASSERT_TRUE(a->post_send(&wr, &bad));
    for (int i = 0; i < 100 && state_of(*a) == IBV_QPS_RTS; ++i)
      lanes.lane.advance(std::chrono::milliseconds(100));
    EXPECT_EQ(one(*cq).status, IBV_WC_RETRY_EXC_ERR);
    const Reason& reason = explanations().front().reason;
    EXPECT_EQ(reason.id, c.expected) << c.length;
    if (c.expected != ReasonId::retry_exceeded_full) continue;
    EXPECT_EQ(reason.figures[2], 1024U + 12 + 16 + 4 + 8 + 20);
    EXPECT_EQ(reason.figures[3], c.known_mtu);
  }
}

// Nobody else looks at these counters when a connection breaks.
TEST_F(TransferTest, WhatTheKernelDroppedWhileThePeerWasSilentIsExplained) {
  connect(IBV_QPT_RC);
  lanes.lane.lose_packets = true;
  lanes.lane.known.dropped[static_cast<std::size_t>(KernelDrop::udp6_checksum)] = 8;
  lanes.lane.known.within = std::chrono::milliseconds(470);
  explanations().clear();
  auto wr = request(IBV_WR_RDMA_WRITE, 64);
  ibv_send_wr* bad = nullptr;
  ASSERT_TRUE(a->post_send(&wr, &bad));
  for (int i = 0; i < 100 && state_of(*a) == IBV_QPS_RTS; ++i)
    lanes.lane.advance(std::chrono::milliseconds(100));
  ASSERT_EQ(explanations().size(), 2U);
  const Reason& reason = explanations().front().reason;
  EXPECT_EQ(reason.id, ReasonId::kernel_dropped);
  EXPECT_EQ(
      describe(reason, Language::english),
      "while the peer was silent, the kernel of this host dropped 8 packets in 470 ms, of this program or "
      "others: Udp6InCsumErrors (a wrong UDP checksum, or none where the socket does not take that (rxe "
      "sends "
      "none))");
  EXPECT_EQ(explanations().back().reason.id, ReasonId::retry_exceeded);
}

TEST_F(TransferTest, SolicitedSendsWakeASolicitedWaiter) {
  auto channel = std::move(*CompletionChannel::create());
  auto waiting = make_cq(10, channel.get());
  a = make_qp(IBV_QPT_RC);
  QueuePairInit wanted = init(IBV_QPT_RC);
  wanted.recv_cq = waiting.get();
  b = make_qp(wanted);
  bring(*b, IBV_QPS_RTS, a->qpn());
  bring(*a, IBV_QPS_RTS, b->qpn());
  receive(1, 8);
  receive(2, 8);
  EXPECT_TRUE(waiting->request_notification(true));
  run(request(IBV_WR_SEND, 8));
  EXPECT_FALSE(fd_ready(channel->fd()));
  auto wr = request(IBV_WR_SEND, 8);
  wr.send_flags |= IBV_SEND_SOLICITED;
  run(wr);
  EXPECT_TRUE(fd_ready(channel->fd()));
  EXPECT_TRUE(b->destroy());
  b = nullptr;
  EXPECT_TRUE(waiting->destroy());
  EXPECT_TRUE(channel->destroy());
}

TEST_F(TransferTest, CommunicationEstablishedInRtr) {
  a = make_qp(IBV_QPT_RC);
  QueuePairInit wanted = init(IBV_QPT_RC);
  wanted.recv_cq = recv_cq.get();
  b = make_qp(wanted);
  bring(*b, IBV_QPS_RTR, a->qpn());
  bring(*a, IBV_QPS_RTS, b->qpn());
  receive(1, 8);
  EXPECT_EQ(run(request(IBV_WR_SEND, 8)).status, IBV_WC_SUCCESS);
  const AsyncEvent event = next_event();
  EXPECT_EQ(event.type, IBV_EVENT_COMM_EST);
  EXPECT_EQ(event.target, b.get());
}

TEST_F(TransferTest, QueryShowsThePsnsOfNow) {
  connect(IBV_QPT_RC);
  run(request(IBV_WR_RDMA_WRITE, 2048));  // two packets
  ibv_qp_attr attributes;
  QueuePairInit made;
  a->query(attributes, made);
  EXPECT_EQ(attributes.sq_psn, 102U);
  b->query(attributes, made);
  EXPECT_EQ(attributes.rq_psn, 102U);
  EXPECT_EQ(a->summary().remote, b->qpn());
  EXPECT_EQ(a->summary().send_psn, 102U);
}

}  // namespace
}  // namespace softrnic::rnic::test
