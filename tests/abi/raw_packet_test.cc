// Raw packet queue pairs and flows, on the loopback.
#include <chrono>
#include <utility>

#include "tests/abi/raw_packet_fixture.h"

namespace softrnic::abi_test {
namespace {

class RawPacketTest : public RawPacketFixture {};

TEST_F(RawPacketTest, WithoutThePrivilegeItIsRefused) {
  set_net_raw(false);
  ibv_qp_init_attr init = qp_init(IBV_QPT_RAW_PACKET);
  EXPECT_EQ(ibv_create_qp(pd.get(), &init), nullptr);
  EXPECT_EQ(errno, EPERM);
  UdpFlow wanted(1);
  errno = 0;
  EXPECT_EQ(ibv_create_flow(sender.get(), &wanted.attributes), nullptr);
  EXPECT_EQ(errno, EPERM);
  set_net_raw(true);
  EXPECT_NE(make_receiver(0), nullptr);
}

TEST_F(RawPacketTest, TheDeviceSaysWhatItHas) {
  ibv_device_attr_ex attributes{};
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &attributes), 0);
  EXPECT_NE(attributes.orig_attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING, 0U);
  EXPECT_EQ(attributes.raw_packet_caps,
            static_cast<std::uint32_t>(IBV_RAW_PACKET_CAP_CVLAN_STRIPPING | IBV_RAW_PACKET_CAP_IP_CSUM));
  EXPECT_EQ(attributes.rss_caps.supported_qpts, 1U << IBV_QPT_RAW_PACKET);
  EXPECT_EQ(attributes.rss_caps.rx_hash_function, IBV_RX_HASH_FUNC_TOEPLITZ);
}

TEST_F(RawPacketTest, AFrameComesByAFlowOnly) {
  const QpPtr receiver = make_receiver();
  send(udp_frame(77, "before"));
  const FlowPtr flow = flow_to(receiver.get(), UdpFlow(77));
  ASSERT_NE(flow, nullptr) << std::strerror(errno);
  send(udp_frame(78, "elsewhere"));
  const auto frame = udp_frame(77, "with a flow");
  send(frame);
  const ibv_wc wc = collect(receive_cq.get(), 1)[0];
  expect_frame(wc, frame);
  EXPECT_EQ(wc.wr_id, 0U);
  EXPECT_EQ(wc.qp_num, receiver->qp_num);
  expect_nothing();
}

TEST_F(RawPacketTest, ChecksumsAreFilledAndSeen) {
  const QpPtr receiver = make_receiver();
  const FlowPtr flow = flow_to(receiver.get(), UdpFlow(77));
  auto wrong = udp_frame(77, "a wrong header");
  send(wrong);
  const ibv_wc unfilled = collect(receive_cq.get(), 1)[0];
  expect_frame(unfilled, wrong);
  EXPECT_EQ(unfilled.wc_flags & IBV_WC_IP_CSUM_OK, 0U) << "the IPv4 header has checksum 0";
  send(wrong, IBV_SEND_IP_CSUM);
  const ibv_wc filled = collect(receive_cq.get(), 1)[0];
  EXPECT_NE(filled.wc_flags & IBV_WC_IP_CSUM_OK, 0U);
  // 10.9.8.1 to 239.9.9.9 with 42 bytes, summed up by hand
  EXPECT_EQ(at(filled.wr_id)[24] << 8 | at(filled.wr_id)[25], 0x30a7);
  EXPECT_EQ(at(63)[24] | at(63)[25], 0) << "the program's frame is left alone";
}

TEST_F(RawPacketTest, SegmentsAreCutAtTheMss) {
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_RAW_PACKET;
  init.send_cq = init.recv_cq = cq.get();
  init.cap = qp_init(IBV_QPT_RAW_PACKET).cap;
  init.pd = pd.get();
  init.max_tso_header = 54;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  init.send_ops_flags = IBV_QP_EX_WITH_TSO;
  const QpPtr extended(ibv_create_qp_ex(context.get(), &init));
  ASSERT_NE(extended, nullptr) << std::strerror(errno);
  ready(extended.get());
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(extended.get());
  const QpPtr receiver = make_receiver();
  UdpFlow wanted(77);
  wanted.udp.type = IBV_FLOW_SPEC_TCP;
  const FlowPtr flow = flow_to(receiver.get(), wanted);
  auto header = udp_frame(77, "");
  header[23] = 6;
  header.resize(54);
  header[46] = 0x50;
  std::memset(at(60), 'x', 2500);
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_start(qp);
  ibv_wr_send_tso(qp, header.data(), 54, 1000);
  ibv_wr_set_sge(qp, mr->lkey, reinterpret_cast<std::uintptr_t>(at(60)), 2500);
  header.assign(54, 0);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  const ibv_wc sent = collect(cq.get(), 1)[0];
  EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent.opcode, IBV_WC_TSO);
  const auto frames = collect(receive_cq.get(), 3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(frames[i].byte_len, i == 2 ? 554U : 1054U);
    EXPECT_NE(frames[i].wc_flags & IBV_WC_IP_CSUM_OK, 0U);
    EXPECT_EQ(at(frames[i].wr_id)[40] << 8 | at(frames[i].wr_id)[41], static_cast<int>(i * 1000))
        << "its sequence";
  }
  ibv_wr_start(qp);
  ibv_wr_send_tso(qp, header.data(), 54, 0);
  ibv_wr_set_sge(qp, mr->lkey, reinterpret_cast<std::uintptr_t>(at(60)), 2500);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL) << "no MSS";
  ibv_wr_start(qp);
  ibv_wr_send_tso(qp, header.data(), 54, 1000);
  ibv_wr_set_sge(qp, mr->lkey, reinterpret_cast<std::uintptr_t>(at(60)), 2500);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_LOC_QP_OP_ERR) << "a header of zeros";
}

TEST_F(RawPacketTest, FramesWakeAChannel) {
  const ChannelPtr channel(ibv_create_comp_channel(context.get()));
  const CqPtr polled =
      std::exchange(receive_cq, CqPtr(ibv_create_cq(context.get(), 16, nullptr, channel.get(), 0)));
  QpPtr receiver = make_receiver();
  FlowPtr flow = flow_to(receiver.get(), UdpFlow(77));
  ASSERT_EQ(ibv_req_notify_cq(receive_cq.get(), 0), 0);
  ASSERT_EQ(try_send(udp_frame(77, "wake up")), 0);
  ASSERT_TRUE(readable(channel->fd, 20000));
  ibv_cq* told = nullptr;
  void* ignored = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel.get(), &told, &ignored), 0);
  ibv_ack_cq_events(told, 1);
  EXPECT_EQ(told, receive_cq.get());
  collect(receive_cq.get(), 1);
  flow.reset();
  receiver.reset();
  receive_cq.reset();
}

TEST_F(RawPacketTest, AreLimitedInTheirRate) {
  ibv_qp_rate_limit_attr rate{};
  rate.rate_limit = 8'000;  // 1 MB/s
  rate.max_burst_sz = 2'000;
  ASSERT_EQ(ibv_modify_qp_rate_limit(sender.get(), &rate), 0);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 40; ++i) send(std::vector<unsigned char>(1000, 0x22));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(30)) << "less the burst";
}

TEST_F(RawPacketTest, InlineByABuilder) {
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_RAW_PACKET;
  init.send_cq = init.recv_cq = cq.get();
  init.cap = qp_init(IBV_QPT_RAW_PACKET).cap;
  init.cap.max_inline_data = 256;
  init.pd = pd.get();
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.send_ops_flags = IBV_QP_EX_WITH_SEND;
  const QpPtr extended(ibv_create_qp_ex(context.get(), &init));
  ASSERT_NE(extended, nullptr) << std::strerror(errno);
  ready(extended.get());
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(extended.get());
  const QpPtr receiver = make_receiver();
  const FlowPtr flow = flow_to(receiver.get(), UdpFlow(77));
  const auto first = udp_frame(77, "first"), second = udp_frame(77, "second");
  auto changing = first;
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  ibv_wr_set_inline_data(qp, changing.data(), changing.size());
  ibv_wr_send(qp);
  std::memcpy(at(62), second.data(), second.size());
  const ibv_sge pieces[] = {sge_of(at(62), 14, mr.get()), sge_of(at(62) + 14, second.size() - 14, mr.get())};
  ibv_wr_set_sge_list(qp, 2, pieces);
  std::memset(changing.data(), 0, changing.size());
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  for (const ibv_wc& wc : collect(cq.get(), 2)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  const auto all = collect(receive_cq.get(), 2);
  expect_frame(all[0], first);
  expect_frame(all[1], second);
}

TEST_F(RawPacketTest, FramesThatCannotBeSentStopTheSendQueue) {
  ASSERT_EQ(try_send({1, 2, 3}), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_LOC_LEN_ERR);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(sender.get(), &attributes, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_SQE);
  ASSERT_EQ(try_send(udp_frame(1, "flushed")), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_WR_FLUSH_ERR);
  ASSERT_EQ(to_state(sender.get(), IBV_QPS_RTS), 0);
  send(udp_frame(1, "again"));
}

TEST_F(RawPacketTest, StatesAndQueries) {
  const QpPtr qp = make_receiver(3);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(qp.get(), &attributes, IBV_QP_STATE | IBV_QP_PORT, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attributes.port_num, 1);
  EXPECT_EQ(init.qp_type, IBV_QPT_RAW_PACKET);
  attributes.qkey = 1;
  EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE | IBV_QP_QKEY), EINVAL);
  ASSERT_EQ(to_state(qp.get(), IBV_QPS_ERR), 0);
  for (const ibv_wc& wc : collect(receive_cq.get(), 3)) EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  ibv_send_wr wr{}, *bad = nullptr;
  wr.opcode = IBV_WR_RDMA_WRITE;
  ASSERT_EQ(ibv_post_send(sender.get(), &wr, &bad), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_LOC_QP_OP_ERR);
}

TEST_F(RawPacketTest, SharedReceivesServeFrames) {
  ibv_srq_init_attr shared{};
  shared.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  const SrqPtr srq(ibv_create_srq(pd.get(), &shared));
  ibv_qp_init_attr init = qp_init(IBV_QPT_RAW_PACKET);
  init.srq = srq.get();
  init.recv_cq = receive_cq.get();
  const QpPtr qp(ibv_create_qp(pd.get(), &init));
  ASSERT_NE(qp, nullptr);
  ready(qp.get());
  ibv_sge sge = next_sge();
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ASSERT_EQ(ibv_post_srq_recv(srq.get(), &wr, &bad), 0);
  const FlowPtr flow = flow_to(qp.get(), UdpFlow(77));
  const auto frame = udp_frame(77, "shared");
  send(frame);
  expect_frame(collect(receive_cq.get(), 1)[0], frame);
}

}  // namespace
}  // namespace softrnic::abi_test
