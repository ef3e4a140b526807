// Flows, what they tell of a frame, their counters, and work queues with RSS, on the loopback.
#include <algorithm>
#include <array>
#include <map>

#include "tests/abi/raw_packet_fixture.h"

namespace softrnic::abi_test {
namespace {

class FlowTest : public RawPacketFixture {};

TEST_F(FlowTest, AnswersAndRefuses) {
  UdpFlow wanted(77);
  const QpPtr datagrams = make_qp(IBV_QPT_UD);
  EXPECT_EQ(ibv_create_flow(datagrams.get(), &wanted.attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  wanted.attributes.comp_mask = 1;
  EXPECT_EQ(ibv_create_flow(sender.get(), &wanted.attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_flow* flow = flow_to(sender.get(), UdpFlow(77)).release();
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(ibv_destroy_qp(sender.get()), EBUSY);
  EXPECT_EQ(ibv_destroy_flow(flow), 0);
}

TEST_F(FlowTest, PriorityCopiesAndDrops) {
  const QpPtr a = make_receiver(), b = make_receiver();
  UdpFlow low(77), high(77);
  low.attributes.priority = 5;
  FlowPtr to_a = flow_to(a.get(), low);
  const auto frame = udp_frame(77, "priority");
  {
    FlowPtr to_b = flow_to(b.get(), high);
    send(frame);
    EXPECT_EQ(collect(receive_cq.get(), 1)[0].qp_num, b->qp_num);
  }
  send(frame);
  EXPECT_EQ(collect(receive_cq.get(), 1)[0].qp_num, a->qp_num);
  {
    FlowPtr as_well = flow_to(b.get(), low);
    send(frame);
    const auto both = collect(receive_cq.get(), 2);
    EXPECT_NE(both[0].qp_num, both[1].qp_num);
  }
  struct {
    UdpFlow flow{77};
    ibv_flow_spec_action_drop drop{IBV_FLOW_SPEC_ACTION_DROP, sizeof(ibv_flow_spec_action_drop)};
  } dropping;
  dropping.flow.set_tag(1);
  dropping.flow.attributes.num_of_specs = 4;
  FlowPtr none(ibv_create_flow(b.get(), &dropping.flow.attributes));
  ASSERT_NE(none, nullptr) << std::strerror(errno);
  send(frame);
  none.reset();
  const auto last = udp_frame(77, "last");
  send(last);
  expect_frame(collect(receive_cq.get(), 1)[0], last);
}

TEST_F(FlowTest, DefaultsAndSniffers) {
  const QpPtr rest = make_receiver(), sniffer = make_receiver(), normal = make_receiver();
  ibv_flow_attr wanted{};
  wanted.port = 1;
  wanted.type = IBV_FLOW_ATTR_MC_DEFAULT;
  const FlowPtr groups(ibv_create_flow(rest.get(), &wanted));
  const FlowPtr port_77 = flow_to(normal.get(), UdpFlow(77));
  send(udp_frame(78, "left over"));
  EXPECT_EQ(collect(receive_cq.get(), 1)[0].qp_num, rest->qp_num);
  wanted.type = IBV_FLOW_ATTR_SNIFFER;
  const FlowPtr all(ibv_create_flow(sniffer.get(), &wanted));
  ASSERT_NE(all, nullptr) << std::strerror(errno);
  send(udp_frame(77, "seen by two"));
  const auto both = collect(receive_cq.get(), 2);
  EXPECT_EQ(both[0].qp_num, sniffer->qp_num);
  EXPECT_EQ(both[1].qp_num, normal->qp_num);
}

TEST_F(FlowTest, TagAndVlanAreReadFromAnExtendedQueue) {
  ibv_cq_init_attr_ex extended{};
  extended.cqe = 16;
  extended.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG;
  ibv_cq_ex* const made = ibv_create_cq_ex(context.get(), &extended);
  ASSERT_NE(made, nullptr) << std::strerror(errno);
  receive_cq.reset(ibv_cq_ex_to_cq(made));
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_RAW_PACKET;
  init.send_cq = init.recv_cq = receive_cq.get();
  init.cap = qp_init(IBV_QPT_RAW_PACKET).cap;
  init.pd = pd.get();
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  init.create_flags = IBV_QP_CREATE_CVLAN_STRIPPING;
  const QpPtr qp(ibv_create_qp_ex(context.get(), &init));
  ASSERT_NE(qp, nullptr) << std::strerror(errno);
  ready(qp.get());
  post(qp.get());
  UdpFlow wanted(77);
  wanted.set_tag(0xabcdef);
  const FlowPtr flow = flow_to(qp.get(), wanted);
  send(udp_frame(77, "tagged", 0x5c0c));
  ibv_poll_cq_attr poll{};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int none = ENOENT;
  while (none == ENOENT && std::chrono::steady_clock::now() < deadline) none = ibv_start_poll(made, &poll);
  ASSERT_EQ(none, 0);
  EXPECT_EQ(ibv_wc_read_flow_tag(made), 0xabcdefU);
  EXPECT_EQ(ibv_wc_read_cvlan(made), 0x5c0c);
  const auto plain = udp_frame(77, "tagged");
  EXPECT_EQ(ibv_wc_read_byte_len(made), plain.size());
  EXPECT_EQ(std::memcmp(at(made->wr_id), plain.data(), plain.size()), 0);
  ibv_end_poll(made);
}

TEST_F(FlowTest, WithoutStrippingTheTagStays) {
  const QpPtr receiver = make_receiver();
  const FlowPtr flow = flow_to(receiver.get(), UdpFlow(77));
  const auto frame = udp_frame(77, "tagged", 0x5c0c);
  send(frame);
  expect_frame(collect(receive_cq.get(), 1)[0], frame);
}

TEST_F(FlowTest, CountersCountFramesAndBytes) {
  ibv_counters_init_attr init{};
  const CountersPtr counters(ibv_create_counters(context.get(), &init));
  ASSERT_NE(counters, nullptr);
  ibv_counter_attach_attr point{};
  point.counter_desc = IBV_COUNTER_PACKETS;
  point.index = 1;
  ASSERT_EQ(ibv_attach_counters_point_flow(counters.get(), &point, nullptr), 0);
  point.counter_desc = IBV_COUNTER_BYTES;
  point.index = 0;
  ASSERT_EQ(ibv_attach_counters_point_flow(counters.get(), &point, nullptr), 0);
  std::memset(&point.counter_desc, 9, sizeof point.counter_desc);
  EXPECT_EQ(ibv_attach_counters_point_flow(counters.get(), &point, nullptr), EOPNOTSUPP);
  const QpPtr receiver = make_receiver();
  struct {
    UdpFlow flow{77};
    ibv_flow_spec_counter_action count{IBV_FLOW_SPEC_ACTION_COUNT, sizeof(ibv_flow_spec_counter_action),
                                       nullptr};
  } wanted;
  // The structures follow each other without a gap.
  std::array<unsigned char, sizeof(UdpFlow) + sizeof wanted.count> bytes{};
  wanted.flow.set_tag(1);
  wanted.flow.attributes.num_of_specs = 4;
  wanted.count.counters = counters.get();
  std::memcpy(bytes.data(), &wanted.flow, sizeof wanted.flow);
  std::memcpy(bytes.data() + sizeof wanted.flow, &wanted.count, sizeof wanted.count);
  FlowPtr flow(ibv_create_flow(receiver.get(), reinterpret_cast<ibv_flow_attr*>(bytes.data())));
  ASSERT_NE(flow, nullptr) << std::strerror(errno);
  point.counter_desc = IBV_COUNTER_BYTES;
  EXPECT_EQ(ibv_attach_counters_point_flow(counters.get(), &point, nullptr), EBUSY);
  EXPECT_EQ(ibv_destroy_counters(counters.get()), EBUSY);
  const auto frame = udp_frame(77, "counted");
  send(frame);
  send(frame);
  collect(receive_cq.get(), 2);
  std::array<std::uint64_t, 2> values{};
  EXPECT_EQ(ibv_read_counters(counters.get(), values.data(), 1, 0), EINVAL);
  ASSERT_EQ(ibv_read_counters(counters.get(), values.data(), 2, IBV_READ_COUNTERS_ATTR_PREFER_CACHED), 0);
  EXPECT_EQ(values[0], 2 * frame.size());
  EXPECT_EQ(values[1], 2U);
  flow.reset();
}

// ---- work queues

class RssTest : public RawPacketFixture {
 protected:
  static constexpr std::size_t kQueues = 4;

  void SetUp() override {
    RawPacketFixture::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    for (ibv_wq*& wq : queues) {
      ibv_wq_init_attr init = wq_init(receive_cq.get(), 16);
      wq = ibv_create_wq(context.get(), &init);
      ASSERT_NE(wq, nullptr) << std::strerror(errno);
    }
    ibv_rwq_ind_table_init_attr init{};
    init.log_ind_tbl_size = 2;
    init.ind_tbl = queues.data();
    table = ibv_create_rwq_ind_table(context.get(), &init);
    ASSERT_NE(table, nullptr) << std::strerror(errno);
  }
  void TearDown() override {
    if (table != nullptr) {
      EXPECT_EQ(ibv_destroy_rwq_ind_table(table), 0);
    }
    for (ibv_wq* wq : queues)
      if (wq != nullptr) {
        EXPECT_EQ(ibv_destroy_wq(wq), 0);
      }
  }
  ibv_qp* make(std::uint64_t fields, std::uint8_t key_bytes = 40) {
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_RAW_PACKET;
    init.pd = pd.get();
    init.rwq_ind_tbl = table;
    init.rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, key_bytes, key, fields};
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
    errno = 0;
    return ibv_create_qp_ex(context.get(), &init);
  }

  std::uint8_t key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
                          0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
                          0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
  std::array<ibv_wq*, kQueues> queues{};
  ibv_rwq_ind_table* table = nullptr;
};

TEST_F(RssTest, FramesOfAFlowStayTogetherAndFlowsAreSpread) {
  for (ibv_wq* wq : queues) {
    ibv_wq_attr attributes{};
    attributes.attr_mask = IBV_WQ_ATTR_STATE;
    attributes.wq_state = IBV_WQS_RDY;
    ASSERT_EQ(ibv_modify_wq(wq, &attributes), 0);
    EXPECT_EQ(wq->state, IBV_WQS_RDY);
    for (int i = 0; i < 15; ++i) {
      ibv_sge sge = next_sge();
      ibv_recv_wr wr{}, *bad = nullptr;
      wr.wr_id = next++;
      wr.sg_list = &sge;
      wr.num_sge = 1;
      ASSERT_EQ(ibv_post_wq_recv(wq, &wr, &bad), 0);
    }
  }
  const QpPtr qp(make(IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4));
  ASSERT_NE(qp, nullptr) << std::strerror(errno);
  EXPECT_EQ(ibv_destroy_wq(queues[0]), EBUSY);
  const FlowPtr flow = flow_to(qp.get(), UdpFlow(77));
  std::map<unsigned char, std::uint32_t> queue_of;
  constexpr unsigned char kSources[] = {1, 2, 3, 4, 5, 6, 7, 8, 1, 5};
  for (const unsigned char source : kSources) {
    send(udp_frame(77, "spread", -1, source));
    const ibv_wc wc = collect(receive_cq.get(), 1)[0];
    EXPECT_EQ(at(wc.wr_id)[29], source);
    const auto [known, fresh] = queue_of.emplace(source, wc.qp_num);
    EXPECT_EQ(known->second, wc.qp_num) << "the same flow, the same queue";
  }
  std::map<std::uint32_t, int> used;
  for (const auto& [source, number] : queue_of) ++used[number];
  EXPECT_GT(used.size(), 1U);
  for (const auto& [number, flows] : used)
    EXPECT_TRUE(
        std::any_of(queues.begin(), queues.end(), [&, n = number](ibv_wq* wq) { return wq->wq_num == n; }));
}

TEST_F(RssTest, AnswersAndRefuses) {
  EXPECT_EQ(make(IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_IPV6), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(make(IBV_RX_HASH_SRC_IPV4, 16), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_wq_init_attr wanted{};
  wanted.pd = pd.get();
  wanted.cq = receive_cq.get();
  wanted.max_wr = wanted.max_sge = 1;
  wanted.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
  wanted.create_flags = IBV_WQ_FLAGS_SCATTER_FCS;
  EXPECT_EQ(ibv_create_wq(context.get(), &wanted), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  const QpPtr qp(make(0));
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(ibv_destroy_rwq_ind_table(table), EBUSY);
  ibv_send_wr wr{}, *bad = nullptr;
  wr.opcode = IBV_WR_SEND;
  EXPECT_EQ(ibv_post_send(qp.get(), &wr, &bad), EINVAL);
  EXPECT_EQ(to_state(qp.get(), IBV_QPS_ERR), EOPNOTSUPP);
}

}  // namespace
}  // namespace softrnic::abi_test
