// Automatic path migration between two addresses of the device, on real lanes.
#include <cerrno>
#include <optional>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

class PathMigration : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    ibv_gid_entry entries[16];
    const auto count = ibv_query_gid_table(context.get(), entries, std::size(entries), 0);
    for (int i = 0; i < count; ++i) {
      const auto& raw = entries[i].gid.raw;
      const bool is_ipv4 = raw[10] == 0xff && raw[11] == 0xff;
      auto& place = is_ipv4 ? ipv4 : ipv6;
      if (!place) place = entries[i];
    }
    if (!ipv4 || !ipv6) GTEST_SKIP() << "the device has not two addresses";
  }

  /// From this address of the device to that one.
  static ibv_ah_attr path(const ibv_gid_entry& from, const ibv_gid& to) {
    ibv_ah_attr attributes{};
    attributes.is_global = 1;
    attributes.grh.dgid = to;
    attributes.grh.sgid_index = static_cast<std::uint8_t>(from.gid_index);
    attributes.grh.hop_limit = 64;
    attributes.port_num = 1;
    return attributes;
  }
  ibv_ah_attr primary() const { return path(*ipv4, ipv4->gid); }
  ibv_ah_attr alternate() const { return path(*ipv6, ipv6->gid); }
  /// Where nobody is: a network without a route (RFC 5737).
  ibv_ah_attr nowhere() const {
    ibv_gid to = ipv4->gid;
    const std::uint8_t host[] = {192, 0, 2, 1};
    std::memcpy(&to.raw[12], host, sizeof host);
    return path(*ipv4, to);
  }

  void connect_by(const ibv_ah_attr& first, ibv_qp_type type = IBV_QPT_RC) {
    a = make_qp(type);
    b = make_qp(type);
    for (ibv_qp* qp : {a.get(), b.get()}) ASSERT_EQ(to_init(qp), 0);
    to_rtr_by(a.get(), b->qp_num, first);
    to_rtr_by(b.get(), a->qp_num, first);
    for (ibv_qp* qp : {a.get(), b.get()}) {
      ibv_qp_attr attributes{};
      attributes.qp_state = IBV_QPS_RTS;
      attributes.timeout = 8;
      attributes.retry_cnt = 2;
      attributes.rnr_retry = 7;
      int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
      if (type == IBV_QPT_RC)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
      ASSERT_EQ(ibv_modify_qp(qp, &attributes, mask), 0);
    }
  }
  static void to_rtr_by(ibv_qp* qp, std::uint32_t peer, const ibv_ah_attr& first) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer;
    attributes.min_rnr_timer = 1;
    attributes.ah_attr = first;
    int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (qp->qp_type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, mask), 0);
  }
  int load(ibv_qp* qp, ibv_mig_state state) const {
    ibv_qp_attr attributes{};
    attributes.alt_ah_attr = alternate();
    attributes.alt_port_num = 1;
    attributes.alt_timeout = 14;
    attributes.path_mig_state = state;
    return ibv_modify_qp(qp, &attributes, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE);
  }
  static int set(ibv_qp* qp, ibv_mig_state state) {
    ibv_qp_attr attributes{};
    attributes.path_mig_state = state;
    return ibv_modify_qp(qp, &attributes, IBV_QP_PATH_MIG_STATE);
  }
  static ibv_qp_attr attributes_of(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init;
    EXPECT_EQ(ibv_query_qp(qp, &attributes, 0, &init), 0);
    return attributes;
  }
  void send_one(ibv_qp* from, ibv_qp* to) {
    char in[32]{}, out[32] = "by one path or another";
    const MrPtr in_mr = make_mr(in, sizeof in, IBV_ACCESS_LOCAL_WRITE), out_mr = make_mr(out, sizeof out, 0);
    ASSERT_EQ(post_recv(to, 1, sge_of(in, sizeof in, in_mr.get())), 0);
    ASSERT_EQ(post_send(from, 2, sge_of(out, sizeof out, out_mr.get())), 0);
    for (const ibv_wc& wc : collect(cq.get(), 2)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_STREQ(in, out);
  }
  /// Both queue pairs are told, whatever else there is to tell.
  void expect_both_migrated() {
    std::vector<ibv_qp*> told;
    while (told.size() < 2 && readable(context->async_fd, 20000)) {
      ibv_async_event event;
      ASSERT_EQ(ibv_get_async_event(context.get(), &event), 0);
      if (event.event_type == IBV_EVENT_PATH_MIG) told.push_back(event.element.qp);
      ibv_ack_async_event(&event);
    }
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told[0], a.get());
    EXPECT_EQ(told[1], b.get());
    for (ibv_qp* qp : {a.get(), b.get()}) {
      const ibv_qp_attr now = attributes_of(qp);
      EXPECT_EQ(now.path_mig_state, IBV_MIG_MIGRATED);
      EXPECT_EQ(now.ah_attr.grh.sgid_index, ipv6->gid_index);
      EXPECT_EQ(now.alt_ah_attr.grh.sgid_index, ipv4->gid_index);
      EXPECT_EQ(now.timeout, 14);
    }
  }

  std::optional<ibv_gid_entry> ipv4, ipv6;
  QpPtr a, b;
};

TEST_F(PathMigration, TheDeviceSaysSo) {
  ibv_device_attr attributes;
  ASSERT_EQ(ibv_query_device(context.get(), &attributes), 0);
  EXPECT_NE(attributes.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG, 0U);
}

TEST_F(PathMigration, IsArmedByTrafficAndCommandedByTheProgram) {
  connect_by(primary());
  for (ibv_qp* qp : {a.get(), b.get()}) ASSERT_EQ(load(qp, IBV_MIG_REARM), 0);
  send_one(a.get(), b.get());
  EXPECT_EQ(attributes_of(b.get()).path_mig_state, IBV_MIG_ARMED);
  EXPECT_EQ(attributes_of(a.get()).path_mig_state, IBV_MIG_ARMED);
  ASSERT_EQ(set(a.get(), IBV_MIG_MIGRATED), 0);
  send_one(a.get(), b.get());
  expect_both_migrated();
  send_one(b.get(), a.get());
}

TEST_F(PathMigration, ASilentPathIsLeftWithinTheRetries) {
  connect_by(nowhere());
  for (ibv_qp* qp : {a.get(), b.get()}) ASSERT_EQ(load(qp, IBV_MIG_ARMED), 0);
  send_one(a.get(), b.get());
  expect_both_migrated();
  send_one(b.get(), a.get());
}

TEST_F(PathMigration, AndBackAgain) {
  connect_by(primary());
  for (ibv_qp* qp : {a.get(), b.get()}) ASSERT_EQ(load(qp, IBV_MIG_MIGRATED), 0);
  for (int i = 0; i < 4; ++i) {
    for (ibv_qp* qp : {a.get(), b.get()}) ASSERT_EQ(set(qp, IBV_MIG_REARM), 0);
    send_one(a.get(), b.get());
    ASSERT_EQ(set(b.get(), IBV_MIG_MIGRATED), 0);
    send_one(a.get(), b.get());
    send_one(b.get(), a.get());
    const bool away = i % 2 == 0;
    for (ibv_qp* qp : {a.get(), b.get()})
      EXPECT_EQ(attributes_of(qp).ah_attr.grh.sgid_index, (away ? ipv6 : ipv4)->gid_index) << i;
  }
}

TEST_F(PathMigration, OfUc) {
  connect_by(primary(), IBV_QPT_UC);
  for (ibv_qp* qp : {a.get(), b.get()}) ASSERT_EQ(load(qp, IBV_MIG_ARMED), 0);
  ASSERT_EQ(set(a.get(), IBV_MIG_MIGRATED), 0);
  send_one(a.get(), b.get());
  EXPECT_EQ(attributes_of(b.get()).path_mig_state, IBV_MIG_MIGRATED);
  EXPECT_EQ(attributes_of(b.get()).ah_attr.grh.sgid_index, ipv6->gid_index);
}

TEST_F(PathMigration, NeedsAnAlternatePath) {
  connect_by(primary());
  EXPECT_EQ(set(a.get(), IBV_MIG_REARM), EINVAL);
  EXPECT_EQ(set(a.get(), IBV_MIG_MIGRATED), 0);
}

}  // namespace
}  // namespace softrnic::abi_test
