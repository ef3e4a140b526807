// librdmacm: connections over the loopback, as programs rely on them.
#include <unistd.h>

#include "tests/abi/cm_fixture.h"

namespace softrnic::abi_test {
namespace {

using CmConnection = CmTest;

TEST_F(CmConnection, CarriesPrivateDataAndMessagesBothWays) {
  listen("127.0.0.1");
  resolve("127.0.0.1");
  ASSERT_EQ(client->route.num_paths, 1);
  EXPECT_EQ(client->route.path_rec->numb_path, 1);
  rdma_conn_param parameters{};
  parameters.private_data = "hello";
  parameters.private_data_len = 6;
  parameters.responder_resources = 3;
  parameters.initiator_depth = 5;
  ASSERT_EQ(rdma_connect(client.get(), &parameters), 0) << std::strerror(errno);
  CmEventPtr request = take_request();
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->listen_id, listener.get());
  EXPECT_EQ(request->id->context, &listener_context);
  EXPECT_EQ(request->id->channel, server_channel.get());
  EXPECT_EQ(request->param.conn.initiator_depth, 3) << "as this side sees it";
  EXPECT_EQ(request->param.conn.responder_resources, 5);
  EXPECT_STREQ(static_cast<const char*>(request->param.conn.private_data), "hello");
  EXPECT_EQ(rdma_get_src_port(server.get()), rdma_get_src_port(listener.get()));
  EXPECT_EQ(rdma_get_dst_port(server.get()), rdma_get_src_port(client.get()));
  parameters.private_data = "welcome";
  parameters.private_data_len = 8;
  ASSERT_EQ(rdma_accept(server.get(), &parameters), 0) << std::strerror(errno);
  request.reset();
  const CmEventPtr established = expect_event(client_channel.get(), RDMA_CM_EVENT_ESTABLISHED);
  ASSERT_NE(established, nullptr);
  EXPECT_STREQ(static_cast<const char*>(established->param.conn.private_data), "welcome");
  ASSERT_NE(expect_event(server_channel.get(), RDMA_CM_EVENT_ESTABLISHED), nullptr);
  send(client.get(), server.get(), 'a');
  send(server.get(), client.get(), 'b');
}

TEST_F(CmConnection, OverIpv6) {
  connect("::1");
  send(client.get(), server.get(), 'a');
}

// Rule 4: zeroed parameters, and retry counts above what three bits hold.
TEST_F(CmConnection, RetryCountsAreClamped) {
  rdma_conn_param parameters{};
  parameters.retry_count = 10;
  parameters.rnr_retry_count = 10;
  connect("127.0.0.1", "", parameters);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(client->qp, &attributes, IBV_QP_RETRY_CNT, &init), 0);
  EXPECT_EQ(attributes.retry_cnt, 7);
  EXPECT_GE(attributes.timeout, 14) << "a generous time-out";
  send(server.get(), client.get(), 'a');
}

// Rule 5.
TEST_F(CmConnection, AListenerForAnyAddressHearsIpv4) {
  connect("::", "127.0.0.1");
  send(client.get(), server.get(), 'a');
}

TEST_F(CmConnection, UnlessItIsForIpv6Only) {
  listener = make_id(server_channel.get());
  int only = 1;
  ASSERT_EQ(rdma_set_option(listener.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof only), 0);
  sockaddr_storage any = address_of("::");
  ASSERT_EQ(rdma_bind_addr(listener.get(), generic(any)), 0);
  ASSERT_EQ(rdma_listen(listener.get(), 1), 0);
  resolve("127.0.0.1");
  rdma_conn_param parameters{};
  ASSERT_EQ(rdma_connect(client.get(), &parameters), 0);
  constexpr int kInvalidServiceId = 8;
  EXPECT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_REJECTED, kInvalidServiceId), nullptr);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(client->qp, &attributes, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_ERR);
}

TEST_F(CmConnection, AProgramMayReject) {
  listen("127.0.0.1");
  resolve("127.0.0.1");
  ASSERT_EQ(rdma_connect(client.get(), nullptr), 0) << std::strerror(errno);
  ASSERT_NE(take_request(), nullptr);
  ASSERT_EQ(rdma_reject(server.get(), "no", 3), 0);
  constexpr int kConsumerReject = 28;
  const CmEventPtr rejected = expect_event(client_channel.get(), RDMA_CM_EVENT_REJECTED, kConsumerReject);
  ASSERT_NE(rejected, nullptr);
  EXPECT_STREQ(static_cast<const char*>(rejected->param.conn.private_data), "no");
}

// Rule 3: the moment the last receive arrives the client disconnects; the server's send is complete all the
// same.
TEST_F(CmConnection, NothingIsLostAtDisconnect) {
  connect();
  char out[32] = "last", in[32]{};
  ibv_mr* const mr = rdma_reg_msgs(client.get(), in, sizeof in);
  ASSERT_EQ(rdma_post_recv(client.get(), nullptr, in, sizeof in, mr), 0);
  ASSERT_EQ(rdma_post_send(server.get(), nullptr, out, sizeof out, nullptr, IBV_SEND_INLINE), 0);
  ibv_wc wc{};
  ASSERT_EQ(rdma_get_recv_comp(client.get(), &wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  ASSERT_EQ(rdma_disconnect(client.get()), 0);
  ASSERT_NE(expect_event(server_channel.get(), RDMA_CM_EVENT_DISCONNECTED), nullptr);
  ASSERT_EQ(rdma_get_send_comp(server.get(), &wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(server->qp, &attributes, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS) << "the peer's wish does not flush this side's queues";
  EXPECT_EQ(rdma_dereg_mr(mr), 0);
}

// Rule 6.
TEST_F(CmConnection, BothSidesHearOfADisconnectOnce) {
  connect();
  ASSERT_EQ(rdma_disconnect(client.get()), 0);
  ASSERT_EQ(rdma_disconnect(server.get()), 0) << "crossing, or in answer";
  ASSERT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_DISCONNECTED), nullptr);
  ASSERT_NE(expect_event(server_channel.get(), RDMA_CM_EVENT_DISCONNECTED), nullptr);
}

TEST_F(CmConnection, DestroyingAnIdDisconnectsThePeer) {
  connect();
  server.reset();
  EXPECT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_DISCONNECTED), nullptr);
}

TEST_F(CmConnection, AQueuePairOfTheProgramsOwn) {
  listen("127.0.0.1");
  resolve("127.0.0.1");
  // The QP that resolve() made goes its own way.
  ibv_qp* const qp = std::exchange(client->qp, nullptr);
  rdma_conn_param parameters{};
  parameters.qp_num = qp->qp_num;
  ASSERT_EQ(rdma_connect(client.get(), &parameters), 0);
  ASSERT_NE(take_request(), nullptr);
  ASSERT_EQ(rdma_accept(server.get(), nullptr), 0);
  ASSERT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_CONNECT_RESPONSE), nullptr);
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    ibv_qp_attr attributes{};
    int mask = 0;
    attributes.qp_state = state;
    ASSERT_EQ(rdma_init_qp_attr(client.get(), &attributes, &mask), 0) << std::strerror(errno);
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, mask), 0);
  }
  ASSERT_EQ(rdma_establish(client.get()), 0) << std::strerror(errno);
  ASSERT_NE(expect_event(server_channel.get(), RDMA_CM_EVENT_ESTABLISHED), nullptr);
  client->qp = qp;
  send(client.get(), server.get(), 'q');
}

TEST_F(CmConnection, AnAddressThatNobodyHasFailsInTime) {
  client = make_id(client_channel.get());
  sockaddr_storage nobody = address_of("192.0.2.1", htons(1));
  if (rdma_resolve_addr(client.get(), nullptr, generic(nobody), 500) == 0) {
    const bool came = readable(client_channel->fd, kPatienceMs);
    ASSERT_TRUE(came);
    rdma_cm_event* event = nullptr;
    ASSERT_EQ(rdma_get_cm_event(client_channel.get(), &event), 0);
    EXPECT_STREQ(rdma_event_str(event->event), "RDMA_CM_EVENT_ADDR_ERROR");
    EXPECT_LT(event->status, 0);
    EXPECT_EQ(rdma_ack_cm_event(event), 0);
  } else {
    EXPECT_TRUE(errno == ENETUNREACH || errno == ENODEV || errno == EHOSTUNREACH) << errno;
  }
}

}  // namespace
}  // namespace softrnic::abi_test
