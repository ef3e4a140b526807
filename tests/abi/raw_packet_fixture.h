// Queue pairs of raw packets on the loopback, and frames for them.
#pragma once

#include <arpa/inet.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {

using FlowPtr = Owner<ibv_flow, ibv_destroy_flow>;
using CountersPtr = Owner<ibv_counters, ibv_destroy_counters>;

/// Takes CAP_NET_RAW from this thread, or gives it back.
inline void set_net_raw(bool on) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  ASSERT_EQ(syscall(SYS_capget, &header, data), 0);
  constexpr std::uint32_t kBit = 1U << CAP_NET_RAW;
  data[0].effective = on ? data[0].effective | kBit : data[0].effective & ~kBit;
  ASSERT_EQ(syscall(SYS_capset, &header, data), 0);
}

/// A UDP datagram in an Ethernet frame to a group.
inline std::vector<unsigned char> udp_frame(std::uint16_t port, const std::string& payload, int vlan = -1,
                                            unsigned char source = 1) {
  std::vector<unsigned char> frame{1, 0, 0x5e, 9, 9, 9, 2, 0, 0, 0, 0, 7};
  const auto add = [&](std::initializer_list<int> bytes) {
    for (const int byte : bytes) frame.push_back(static_cast<unsigned char>(byte));
  };
  if (vlan >= 0) add({0x81, 0, vlan >> 8, vlan & 0xff});
  const auto length = static_cast<int>(28 + payload.size());
  add({8, 0, 0x45, 0, length >> 8, length & 0xff, 0,   0, 0x40, 0, 64, 17,
       0, 0, 10,   9, 8,           source,        239, 9, 9,    9});
  add({0x10, 0, port >> 8, port & 0xff, (length - 20) >> 8, (length - 20) & 0xff, 0, 0});
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

/// A rule for such frames.
struct UdpFlow {
  ibv_flow_attr attributes{};
  ibv_flow_spec_eth ethernet{};
  ibv_flow_spec_tcp_udp udp{};
  ibv_flow_spec_action_tag tag{};

  explicit UdpFlow(std::uint16_t port) {
    attributes.size = sizeof *this;
    attributes.num_of_specs = 2;
    attributes.port = 1;
    ethernet.type = IBV_FLOW_SPEC_ETH;
    ethernet.size = sizeof ethernet;
    const std::uint8_t group[] = {1, 0, 0x5e, 9, 9, 9};
    std::memcpy(ethernet.val.dst_mac, group, sizeof group);
    std::memset(ethernet.mask.dst_mac, 0xff, sizeof ethernet.mask.dst_mac);
    udp.type = IBV_FLOW_SPEC_UDP;
    udp.size = sizeof udp;
    udp.val.dst_port = htons(port);
    udp.mask.dst_port = 0xffff;
    tag.type = IBV_FLOW_SPEC_ACTION_TAG;
    tag.size = sizeof tag;
  }
  void set_tag(std::uint32_t to) {
    attributes.num_of_specs = 3;
    tag.tag_id = to;
  }
};
static_assert(sizeof(UdpFlow) == sizeof(ibv_flow_attr) + sizeof(ibv_flow_spec_eth) +
                                     sizeof(ibv_flow_spec_tcp_udp) + sizeof(ibv_flow_spec_action_tag));

class RawPacketFixture : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    if (HasFatalFailure()) return;
    ibv_qp_init_attr init = qp_init(IBV_QPT_RAW_PACKET);
    ibv_qp* const tried = ibv_create_qp(pd.get(), &init);
    if (tried == nullptr && errno == EPERM) GTEST_SKIP() << "without CAP_NET_RAW";
    ASSERT_NE(tried, nullptr) << std::strerror(errno);
    sender.reset(tried);
    ready(sender.get());
    room.resize(std::size_t{64} * 2048);
    mr = make_mr(room.data(), room.size(), IBV_ACCESS_LOCAL_WRITE);
    receive_cq.reset(ibv_create_cq(context.get(), 256, nullptr, nullptr, 0));
  }

  static void ready(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PORT), 0);
    ASSERT_EQ(to_state(qp, IBV_QPS_RTR), 0);
    ASSERT_EQ(to_state(qp, IBV_QPS_RTS), 0);
  }
  /// Its receives complete to receive_cq.
  QpPtr make_receiver(int receives = 4) {
    ibv_qp_init_attr init = qp_init(IBV_QPT_RAW_PACKET);
    init.recv_cq = receive_cq.get();
    QpPtr qp(ibv_create_qp(pd.get(), &init));
    EXPECT_NE(qp, nullptr);
    ready(qp.get());
    for (int i = 0; i < receives; ++i) post(qp.get());
    return qp;
  }
  unsigned char* at(std::uint64_t id) { return room.data() + id * 2048; }
  ibv_sge next_sge() {
    const ibv_sge sge = sge_of(at(next), 2048, mr.get());
    return sge;
  }
  /// wr_id is the place of its memory.
  void post(ibv_qp* qp) {
    ASSERT_EQ(post_recv(qp, next, next_sge()), 0);
    ++next;
  }
  FlowPtr flow_to(ibv_qp* qp, UdpFlow wanted) { return FlowPtr(ibv_create_flow(qp, &wanted.attributes)); }
  int try_send(const std::vector<unsigned char>& frame, unsigned flags = 0) {
    std::memcpy(at(63), frame.data(), frame.size());
    ibv_sge sge = sge_of(at(63), frame.size(), mr.get());
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED | flags;
    return ibv_post_send(sender.get(), &wr, &bad);
  }
  void send(const std::vector<unsigned char>& frame, unsigned flags = 0) {
    ASSERT_EQ(try_send(frame, flags), 0);
    const ibv_wc wc = collect(cq.get(), 1)[0];
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
    ASSERT_EQ(wc.opcode, IBV_WC_SEND);
  }
  void expect_frame(const ibv_wc& wc, const std::vector<unsigned char>& frame) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    ASSERT_EQ(wc.byte_len, frame.size());
    EXPECT_EQ(std::memcmp(at(wc.wr_id), frame.data(), frame.size()), 0);
  }
  void expect_nothing() {
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(receive_cq.get(), 1, &wc), 0);
  }

  std::vector<unsigned char> room;
  std::uint64_t next = 0;
  MrPtr mr;
  CqPtr receive_cq;
  QpPtr sender;
};

}  // namespace softrnic::abi_test
