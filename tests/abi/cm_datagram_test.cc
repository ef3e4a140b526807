// librdmacm: datagrams over SIDR, and multicast groups.
#include "tests/abi/cm_fixture.h"

namespace softrnic::abi_test {
namespace {

using CmDatagrams = CmTest;

/// Sends "ping" to `address`, which `to` gets.
void send_datagram(rdma_cm_id* from, rdma_cm_id* to, ibv_ah_attr address, std::uint32_t qpn,
                   std::uint32_t qkey) {
  char in[kGrhBytes + 16]{}, out[16] = "ping";
  ibv_mr* const mr = rdma_reg_msgs(to, in, sizeof in);
  ibv_ah* const ah = ibv_create_ah(from->pd, &address);
  ASSERT_NE(mr, nullptr);
  ASSERT_NE(ah, nullptr) << std::strerror(errno);
  ASSERT_EQ(rdma_post_recv(to, nullptr, in, sizeof in, mr), 0);
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(out), sizeof out, 0};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  wr.wr.ud = {ah, qpn, qkey};
  ASSERT_EQ(ibv_post_send(from->qp, &wr, &bad), 0);
  ibv_wc wc{};
  ASSERT_EQ(rdma_get_recv_comp(to, &wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_STREQ(in + kGrhBytes, "ping");
  ibv_destroy_ah(ah);
  EXPECT_EQ(rdma_dereg_mr(mr), 0);
}

TEST_F(CmDatagrams, EstablishedTellsHowToReachThePeer) {
  listen("127.0.0.1", RDMA_PS_UDP);
  resolve("127.0.0.1", RDMA_PS_UDP);
  rdma_conn_param parameters{};
  parameters.private_data = "who";
  parameters.private_data_len = 4;
  ASSERT_EQ(rdma_connect(client.get(), &parameters), 0) << std::strerror(errno);
  CmEventPtr request = take_request();
  ASSERT_NE(request, nullptr);
  EXPECT_STREQ(static_cast<const char*>(request->param.ud.private_data), "who");
  parameters.qp_num = server->qp->qp_num;
  ASSERT_EQ(rdma_accept(server.get(), &parameters), 0) << std::strerror(errno);
  const CmEventPtr established = expect_event(client_channel.get(), RDMA_CM_EVENT_ESTABLISHED);
  ASSERT_NE(established, nullptr);
  EXPECT_EQ(established->param.ud.qp_num, server->qp->qp_num);
  EXPECT_EQ(established->param.ud.qkey, RDMA_UDP_QKEY);
  send_datagram(client.get(), server.get(), established->param.ud.ah_attr, established->param.ud.qp_num,
                established->param.ud.qkey);
}

TEST_F(CmDatagrams, AGroupIsJoinedAndLeft) {
  client = make_id(client_channel.get(), RDMA_PS_UDP);
  sockaddr_storage own = address_of("127.0.0.1"), group = address_of("239.1.2.3");
  ASSERT_EQ(rdma_bind_addr(client.get(), generic(own)), 0);
  make_qp(client.get());
  int context = 0;
  ASSERT_EQ(rdma_join_multicast(client.get(), generic(group), &context), 0) << std::strerror(errno);
  CmEventPtr joined = expect_event(client_channel.get(), RDMA_CM_EVENT_MULTICAST_JOIN);
  ASSERT_NE(joined, nullptr);
  EXPECT_EQ(joined->param.ud.private_data, &context);
  EXPECT_EQ(joined->param.ud.qp_num, 0xffffffU);
  send_datagram(client.get(), client.get(), joined->param.ud.ah_attr, joined->param.ud.qp_num,
                joined->param.ud.qkey);
  joined.reset();
  ASSERT_EQ(rdma_leave_multicast(client.get(), generic(group)), 0) << std::strerror(errno);
  EXPECT_EQ(rdma_leave_multicast(client.get(), generic(group)), -1);
  EXPECT_EQ(errno, EADDRNOTAVAIL);
}

}  // namespace
}  // namespace softrnic::abi_test
