// Address handles and datagrams.
#include <cerrno>

#include "tests/abi/verbs_fixture.h"

extern "C" int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attributes, uint8_t mac[6],
                                           uint16_t* vlan);

namespace softrnic::abi_test {
namespace {

constexpr std::size_t kGrhBytes = sizeof(ibv_grh);

class DatagramTest : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    a = make_qp(IBV_QPT_UD);
    b = make_qp(IBV_QPT_UD);
    connect(a.get(), b.get());
    mr = make_mr(buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  }

  int send_to(ibv_qp* from, ibv_ah* ah, std::uint32_t qpn, const char* text) {
    std::memcpy(buffer, text, std::strlen(text) + 1);
    ibv_sge sge = sge_of(buffer, std::strlen(text) + 1, mr.get());
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = 9;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = kQkey};
    return ibv_post_send(from, &wr, &bad);
  }
  /// The receive completion of a datagram; the send's is taken too.
  ibv_wc receive_one() {
    ibv_wc receive{};
    for (const ibv_wc& wc : collect(cq.get(), 2)) {
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      if ((wc.opcode & IBV_WC_RECV) != 0) receive = wc;
    }
    return receive;
  }
  /// The first index that holds an address of this family.
  std::uint8_t index_of_family(bool ipv4) {
    std::array<ibv_gid_entry, 256> entries{};
    const ssize_t count = ibv_query_gid_table(context.get(), entries.data(), entries.size(), 0);
    for (ssize_t i = 0; i < count; ++i) {
      const auto& raw = entries[static_cast<std::size_t>(i)].gid.raw;
      const bool mapped = raw[10] == 0xff && raw[11] == 0xff && raw[0] == 0;
      if (mapped == ipv4) return static_cast<std::uint8_t>(entries[static_cast<std::size_t>(i)].gid_index);
    }
    ADD_FAILURE() << "no such GID";
    return 0;
  }
  ibv_ah_attr address_by(std::uint8_t index) {
    ibv_ah_attr attributes = address();
    attributes.grh.sgid_index = index;
    EXPECT_EQ(ibv_query_gid(context.get(), 1, index, &attributes.grh.dgid), 0);
    return attributes;
  }
  ibv_grh* received_header() { return reinterpret_cast<ibv_grh*>(buffer + 512); }

  static ibv_gid a_group() {
    ibv_gid group{};
    const unsigned char raw[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};
    std::memcpy(group.raw, raw, sizeof raw);
    return group;
  }
  AhPtr way_to(const ibv_gid& group) {
    ibv_ah_attr attributes = address_by(index_of_family(true));
    attributes.grh.dgid = group;
    return AhPtr(ibv_create_ah(pd.get(), &attributes));
  }
  /// In RTS, made with `flags`.
  QpPtr make_ready(std::uint32_t flags) const {
    const ibv_qp_init_attr plain = qp_init(IBV_QPT_UD);
    ibv_qp_init_attr_ex init{};
    init.send_cq = plain.send_cq;
    init.recv_cq = plain.recv_cq;
    init.cap = plain.cap;
    init.qp_type = plain.qp_type;
    init.pd = pd.get();
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
    init.create_flags = flags;
    QpPtr qp(ibv_create_qp_ex(context.get(), &init));
    if (qp == nullptr || to_init(qp.get()) != 0 || to_rtr(qp.get(), 0) != 0 || to_rts(qp.get()) != 0)
      return {};
    return qp;
  }
  static std::size_t came_to(const ibv_wc& wc, const ibv_qp& qp) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    return (wc.opcode & IBV_WC_RECV) != 0 && wc.qp_num == qp.qp_num ? 1 : 0;
  }

  QpPtr a, b;
  MrPtr mr;
  alignas(64) char buffer[2048] = {};
};

TEST_F(DatagramTest, BadAddressesAreRefused) {
  const auto refused = [&](auto spoil) {
    ibv_ah_attr attributes = address();
    spoil(attributes);
    errno = 0;
    EXPECT_EQ(ibv_create_ah(pd.get(), &attributes), nullptr);
    return errno;
  };
  EXPECT_EQ(refused([](auto& at) { at.is_global = 0; }), EINVAL);
  EXPECT_EQ(refused([](auto& at) { at.port_num = 2; }), EINVAL);
  EXPECT_EQ(refused([](auto& at) { at.grh.sgid_index = 250; }), EINVAL);
  EXPECT_EQ(refused([](auto& at) { at.grh.dgid = {}; }), EINVAL);
  ibv_ah_attr good = address();
  AhPtr ah(ibv_create_ah(pd.get(), &good));
  ASSERT_NE(ah, nullptr);
  EXPECT_EQ(ah->pd, pd.get());
  EXPECT_EQ(ah->context, context.get());
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

TEST_F(DatagramTest, ADatagramTellsHowToAnswerIt) {
  for (const bool ipv4 : {false, true}) {
    ibv_ah_attr attributes = address_by(index_of_family(ipv4));
    AhPtr ah(ibv_create_ah(pd.get(), &attributes));
    ASSERT_NE(ah, nullptr);
    ASSERT_EQ(post_recv(b.get(), 1, sge_of(received_header(), kGrhBytes + 100, mr.get())), 0);
    ASSERT_EQ(send_to(a.get(), ah.get(), b->qp_num, "question"), 0);
    ibv_wc wc = receive_one();
    EXPECT_EQ(wc.byte_len, kGrhBytes + sizeof "question");
    EXPECT_EQ(wc.src_qp, a->qp_num);
    EXPECT_NE(wc.wc_flags & IBV_WC_GRH, 0U);
    EXPECT_STREQ(reinterpret_cast<char*>(received_header() + 1), "question");

    ibv_ah_attr back{};
    ASSERT_EQ(ibv_init_ah_from_wc(context.get(), 1, &wc, received_header(), &back), 0) << ipv4;
    EXPECT_EQ(back.grh.sgid_index, attributes.grh.sgid_index);
    EXPECT_EQ(std::memcmp(&back.grh.dgid, &attributes.grh.dgid, sizeof gid), 0);
    AhPtr answer(ibv_create_ah_from_wc(pd.get(), &wc, received_header(), 1));
    ASSERT_NE(answer, nullptr);
    ASSERT_EQ(post_recv(a.get(), 2, sge_of(received_header(), kGrhBytes + 100, mr.get())), 0);
    ASSERT_EQ(send_to(b.get(), answer.get(), wc.src_qp, "answer"), 0);
    EXPECT_EQ(receive_one().wr_id, 2U);
  }
}

TEST_F(DatagramTest, AForeignHeaderCannotBeAnswered) {
  ibv_wc wc{};
  ibv_ah_attr back{};
  EXPECT_EQ(ibv_init_ah_from_wc(context.get(), 1, &wc, nullptr, &back), 0) << "no GRH: only the LID";
  EXPECT_EQ(back.is_global, 0);
  wc.wc_flags = IBV_WC_GRH;
  ibv_grh grh{};
  errno = 0;
  EXPECT_EQ(ibv_init_ah_from_wc(context.get(), 1, &wc, &grh, &back), -1);
  EXPECT_EQ(errno, EPROTONOSUPPORT);
  grh.version_tclass_flow = htobe32(6U << 28);
  grh.next_hdr = 17;
  std::memset(grh.dgid.raw, 0x33, sizeof grh.dgid.raw);
  EXPECT_EQ(ibv_init_ah_from_wc(context.get(), 1, &wc, &grh, &back), -1) << "not sent to us";
  grh.dgid.raw[0] = 0xff;
  EXPECT_EQ(ibv_create_ah_from_wc(pd.get(), &wc, &grh, 1), nullptr) << "a group";
}

TEST_F(DatagramTest, GroupsReachEveryMember) {
  ibv_gid group = a_group();
  AhPtr ah = way_to(group);
  ASSERT_NE(ah, nullptr);
  ASSERT_EQ(ibv_attach_mcast(b.get(), &group, 0), 0);
  ASSERT_EQ(post_recv(b.get(), 5, sge_of(received_header(), kGrhBytes + 100, mr.get())), 0);
  ASSERT_EQ(send_to(a.get(), ah.get(), 0xffffff, "to all"), 0);
  EXPECT_EQ(receive_one().wr_id, 5U);
  EXPECT_STREQ(reinterpret_cast<char*>(received_header() + 1), "to all");
  EXPECT_EQ(ibv_detach_mcast(b.get(), &group, 0), 0);
}

// What a member sends comes back to it, unless it was made to have none of that.
TEST_F(DatagramTest, AMemberThatBlocksItsOwnHearsTheOthersAlone) {
  ibv_gid group = a_group();
  AhPtr ah = way_to(group);
  ASSERT_NE(ah, nullptr);
  for (const bool blocks : {false, true}) {
    const QpPtr sender = make_ready(blocks ? IBV_QP_CREATE_BLOCK_SELF_MCAST_LB : 0);
    ASSERT_NE(sender, nullptr);
    for (ibv_qp* const member : {sender.get(), b.get()}) {
      ASSERT_EQ(ibv_attach_mcast(member, &group, 0), 0);
      ASSERT_EQ(post_recv(member, 5, sge_of(received_header(), kGrhBytes + 100, mr.get())), 0);
    }
    ASSERT_EQ(send_to(sender.get(), ah.get(), 0xffffff, "to all"), 0);
    std::size_t heard_itself = 0;
    for (const ibv_wc& wc : collect(cq.get(), blocks ? 2 : 3)) heard_itself += came_to(wc, *sender);
    EXPECT_EQ(heard_itself, blocks ? 0U : 1U);
    if (blocks) {
      ASSERT_EQ(send_to(a.get(), ah.get(), 0xffffff, "from another"), 0);
      std::size_t heard = 0;
      for (const ibv_wc& wc : collect(cq.get(), 2)) heard += came_to(wc, *sender);
      EXPECT_EQ(heard, 1U) << "its receive was left for others";
    }
    EXPECT_EQ(ibv_detach_mcast(sender.get(), &group, 0), 0);
    EXPECT_EQ(ibv_detach_mcast(b.get(), &group, 0), 0);
  }
}

TEST_F(DatagramTest, EthernetAddressesAreResolved) {
  std::uint8_t mac[6] = {1, 1, 1, 1, 1, 1};
  std::uint16_t vlan = 0;
  for (const bool ipv4 : {false, true}) {
    ibv_ah_attr attributes = address_by(index_of_family(ipv4));
    EXPECT_EQ(ibv_resolve_eth_l2_from_gid(context.get(), &attributes, mac, &vlan), 0) << ipv4;
    EXPECT_EQ(vlan, 0xffff);
  }
  ibv_ah_attr group = address();
  const unsigned char raw[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 129, 2, 3};
  std::memcpy(group.grh.dgid.raw, raw, sizeof raw);
  EXPECT_EQ(ibv_resolve_eth_l2_from_gid(context.get(), &group, mac, nullptr), 0);
  const unsigned char wanted[] = {0x01, 0x00, 0x5e, 0x01, 0x02, 0x03};
  EXPECT_EQ(std::memcmp(mac, wanted, sizeof wanted), 0);
  ibv_ah_attr bad = address();
  bad.grh.sgid_index = 250;
  EXPECT_EQ(ibv_resolve_eth_l2_from_gid(context.get(), &bad, mac, nullptr), -EINVAL);
  ibv_ah_attr nowhere = address_by(index_of_family(true));
  const unsigned char unrouted[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
  std::memcpy(nowhere.grh.dgid.raw, unrouted, sizeof unrouted);
  EXPECT_EQ(ibv_resolve_eth_l2_from_gid(context.get(), &nowhere, mac, nullptr), -EHOSTUNREACH);
}

}  // namespace
}  // namespace softrnic::abi_test
