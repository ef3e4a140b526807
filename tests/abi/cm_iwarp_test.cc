// librdmacm on an iWARP device: connections of TCP come about and end as they do on Linux. The program sees
// that device alone (SOFTRNIC_DEVICE).
#include <cstdlib>
#include <thread>

#include "tests/abi/cm_iwarp_fixture.h"

namespace softrnic::abi_test {
namespace {

TEST_F(CmIwarp, CarriesMessagesAndEndsInOrder) {
  connect();
  EXPECT_EQ(client->verbs->device->transport_type, IBV_TRANSPORT_IWARP);
  send(client.get(), server.get(), 'a');
  send(server.get(), client.get(), 'b');
  EXPECT_EQ(rdma_notify(client.get(), IBV_EVENT_COMM_EST), 0) << "as the kernel";
  EXPECT_EQ(rdma_disconnect(client.get()), 0);
  expect_ends();
  EXPECT_EQ(rdma_disconnect(server.get()), 0);
}

// Of TCP no answer would be there yet. The first ones go by packets, until it is known who the peer is.
TEST_F(CmIwarp, OnOneHostAnAtomicIsDoneInsideItsPost) {
  for (const char* const set : {"SOFTRNIC_PATH", "SOFTRNIC_FAULTS", "SOFTRNIC_CAPTURE"})
    if (std::getenv(set) != nullptr) GTEST_SKIP() << "by TCP";
  rdma_conn_param parameters{};
  parameters.responder_resources = parameters.initiator_depth = 1;
  connect("127.0.0.1", "", parameters);
  alignas(8) std::uint64_t word = 0, before = 0;
  constexpr int kLocal = IBV_ACCESS_LOCAL_WRITE, kAtomic = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  ibv_mr* const there = ibv_reg_mr(server->pd, &word, sizeof word, kAtomic);
  ibv_mr* const here = ibv_reg_mr(client->pd, &before, sizeof before, kLocal);
  ASSERT_TRUE(there != nullptr && here != nullptr);
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(&before), sizeof before, here->lkey};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.atomic = {reinterpret_cast<std::uintptr_t>(&word), 1, 0, there->rkey};
  int in_a_row = 0;
  for (std::uint64_t count = 0; in_a_row < 1000 && count < 100'000; ++count) {
    ibv_wc wc{};
    ASSERT_EQ(ibv_post_send(client->qp, &wr, &bad), 0) << std::strerror(errno);
    in_a_row = word == count + 1 ? in_a_row + 1 : 0;
    while (ibv_poll_cq(client->send_cq, 1, &wc) == 0) continue;
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
    ASSERT_EQ(before, count);
  }
  EXPECT_EQ(in_a_row, 1000);
  EXPECT_EQ(ibv_dereg_mr(there), 0);
  EXPECT_EQ(ibv_dereg_mr(here), 0);
}

// The end is not told before what has come about.
TEST_F(CmIwarp, AMessageWhoseTakerDisconnectsAtOnceHasArrived) {
  for (int round = 0; round < 50; ++round) {
    connect();
    send(client.get(), server.get(), 'a');  // from here on without packets, where that is possible
    char out[8]{}, in[8]{};
    ibv_mr* const mr = rdma_reg_msgs(server.get(), in, sizeof in);
    ASSERT_NE(mr, nullptr);
    ASSERT_EQ(rdma_post_recv(server.get(), nullptr, in, sizeof in, mr), 0);
    ASSERT_EQ(rdma_post_send(client.get(), nullptr, out, sizeof out, nullptr, IBV_SEND_INLINE), 0);
    ibv_wc wc{};
    ASSERT_EQ(rdma_get_recv_comp(server.get(), &wc), 1);
    EXPECT_EQ(rdma_disconnect(server.get()), 0);
    expect_ends();
    ASSERT_EQ(rdma_get_send_comp(client.get(), &wc), 1);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << round;
    EXPECT_EQ(rdma_dereg_mr(mr), 0);
    drop_ids();
  }
}

// A close waits for the answer to what was posted, and for no more.
TEST_F(CmIwarp, ACloseBehindAMessageDoesNotStandStill) {
  connect();
  send(client.get(), server.get(), 'a');
  char out[8]{}, in[8]{};
  ibv_mr* const mr = rdma_reg_msgs(server.get(), in, sizeof in);
  ASSERT_EQ(rdma_post_recv(server.get(), nullptr, in, sizeof in, mr), 0);
  ASSERT_EQ(rdma_post_send(client.get(), nullptr, out, sizeof out, nullptr, IBV_SEND_INLINE), 0);
  EXPECT_EQ(rdma_disconnect(client.get()), 0);
  EXPECT_TRUE(readable(client_channel->fd, 8000)) << "it would be given up after 10 s";
  expect_ends();
  ibv_wc wc{};
  ASSERT_EQ(rdma_get_recv_comp(server.get(), &wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(rdma_dereg_mr(mr), 0);
}

TEST_F(CmIwarp, AQueuePairThatIsResetWaitsForNothing) {
  for (int round = 0; round < 5; ++round) {
    connect();
    char out[8]{};
    ASSERT_EQ(rdma_post_send(client.get(), nullptr, out, sizeof out, nullptr, IBV_SEND_INLINE), 0);
    ibv_qp_attr attributes{};
    ASSERT_EQ(ibv_modify_qp(client->qp, &attributes, IBV_QP_STATE), 0);
    EXPECT_NE(next(server_channel, RDMA_CM_EVENT_DISCONNECTED), nullptr);
    drop_ids();
  }
}

// A refusal ends the connection, and both programs hear of it.
TEST_F(CmIwarp, AWriteToWhereNobodyMayWriteEndsTheConnection) {
  connect();
  std::uint64_t word = 0;
  constexpr int kLocal = IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* const mr = ibv_reg_mr(client->pd, &word, sizeof word, kLocal);
  ASSERT_NE(mr, nullptr);
  ASSERT_EQ(rdma_post_write(client.get(), nullptr, &word, sizeof word, mr, IBV_SEND_SIGNALED,
                            reinterpret_cast<std::uintptr_t>(&word), mr->rkey ^ 1),
            0)
      << std::strerror(errno);
  expect_ends();
  for (rdma_cm_id* const id : {client.get(), server.get()}) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(id->qp, &attributes, IBV_QP_STATE, &init), 0);
    EXPECT_EQ(attributes.qp_state, IBV_QPS_ERR);
  }
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(CmIwarp, AMessageThatNobodyTakesEndsTheConnection) {
  connect();
  char out[8]{};
  ASSERT_EQ(rdma_post_send(client.get(), nullptr, out, sizeof out, nullptr, IBV_SEND_INLINE), 0);
  expect_ends();
}

TEST_F(CmIwarp, AReceiveMayComeBehindItsMessage) {
  connect();
  char out[8] = "late", in[8]{};
  ibv_mr* const mr = rdma_reg_msgs(server.get(), in, sizeof in);
  ASSERT_NE(mr, nullptr);
  ASSERT_EQ(rdma_post_send(client.get(), nullptr, out, sizeof out, nullptr, IBV_SEND_INLINE), 0);
  ibv_wc wc{};
  for (int polls = 0; polls < 50; ++polls) ASSERT_EQ(ibv_poll_cq(server->recv_cq, 1, &wc), 0);
  ASSERT_EQ(rdma_post_recv(server.get(), nullptr, in, sizeof in, mr), 0);
  ASSERT_EQ(rdma_get_recv_comp(server.get(), &wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_STREQ(in, "late");
  EXPECT_EQ(rdma_dereg_mr(mr), 0);
}

TEST_F(CmIwarp, OverIpv6) {
  connect("::1");
  send(client.get(), server.get(), 'a');
}

// The client ends the connection while the server is still inside rdma_accept.
TEST_F(CmIwarp, AConnectionThatEndsAtOnceIsHeardOfFromBeginToEnd) {
  for (int round = 0; round < 50; ++round) {
    ASSERT_NO_FATAL_FAILURE(ask());
    std::thread fast([this] {
      EXPECT_NE(next(client_channel, RDMA_CM_EVENT_ESTABLISHED), nullptr);
      EXPECT_EQ(rdma_disconnect(client.get()), 0);
    });
    accept();
    fast.join();
    EXPECT_NE(next(server_channel, RDMA_CM_EVENT_ESTABLISHED), nullptr) << round;
    expect_ends();
    drop_ids();
  }
}

TEST_F(CmIwarp, ADisconnectBeforeEstablishedWasFetched) {
  for (const bool on_the_way : {true, false}) {
    ASSERT_NO_FATAL_FAILURE(ask());
    if (on_the_way) {
      EXPECT_EQ(rdma_disconnect(client.get()), 0);
    }
    accept();
    ASSERT_TRUE(readable(client_channel->fd, kPatienceMs));
    if (!on_the_way) {
      EXPECT_EQ(rdma_disconnect(client.get()), 0);
    }
    EXPECT_NE(next(client_channel, RDMA_CM_EVENT_ESTABLISHED), nullptr);
    EXPECT_NE(next(server_channel, RDMA_CM_EVENT_ESTABLISHED), nullptr);
    expect_ends();
    drop_ids();
  }
}

TEST_F(CmIwarp, AConnectThatIsFasterThanTheListener) {
  listener = make_id(server_channel.get());
  sockaddr_storage address = address_of("127.0.0.1");
  ASSERT_EQ(rdma_bind_addr(listener.get(), generic(address)), 0);
  resolve("127.0.0.1");
  rdma_conn_param parameters{};
  ASSERT_EQ(rdma_connect(client.get(), &parameters), 0);
  EXPECT_FALSE(readable(client_channel->fd, 30)) << "nobody has refused it";
  ASSERT_EQ(rdma_listen(listener.get(), 1), 0);
  ASSERT_NE(take_request(), nullptr);
}

TEST_F(CmIwarp, NobodyListens) {
  listener = make_id(server_channel.get());
  sockaddr_storage address = address_of("127.0.0.1");
  ASSERT_EQ(rdma_bind_addr(listener.get(), generic(address)), 0);
  resolve("127.0.0.1");
  rdma_conn_param parameters{};
  ASSERT_EQ(rdma_connect(client.get(), &parameters), 0);
  EXPECT_NE(next(client_channel, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED), nullptr);
}

TEST_F(CmIwarp, NothingIsSaidForAQueuePairThatCannotTakeTheConnection) {
  ASSERT_NO_FATAL_FAILURE(ask());
  break_qp(server->qp);
  rdma_conn_param parameters{};
  EXPECT_REFUSED(rdma_accept(server.get(), &parameters), EINVAL);
  EXPECT_FALSE(readable(client_channel->fd, 0)) << "the peer has heard nothing";
  EXPECT_EQ(rdma_reject(server.get(), nullptr, 0), 0);
  EXPECT_NE(next(client_channel, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED), nullptr);
  client.reset();
  resolve("127.0.0.1");
  break_qp(client->qp);
  EXPECT_REFUSED(rdma_connect(client.get(), &parameters), EINVAL);
}

// As the kernel's iw_cm, which closes what an id leaves behind. The queue pair is the program's own.
TEST_F(CmIwarp, AnIdThatIsDestroyedTakesItsConnectionAlong) {
  listen("127.0.0.1");
  ASSERT_NO_FATAL_FAILURE(connect_own());
  client.reset();
  EXPECT_NE(next(server_channel, RDMA_CM_EVENT_DISCONNECTED), nullptr);
  destroy_own();
}

// A queue pair may have another connection when the id of the last one is disconnected at last.
TEST_F(CmIwarp, AnOldIdDoesNotEndTheNextConnectionOfItsQueuePair) {
  listen("127.0.0.1");
  ASSERT_NO_FATAL_FAILURE(connect_own());
  EXPECT_EQ(rdma_disconnect(server.get()), 0);
  expect_ends();
  server.reset();
  auto old = std::move(client);
  ibv_qp_attr attributes{};
  ASSERT_EQ(ibv_modify_qp(own, &attributes, IBV_QP_STATE), 0);  // RESET
  ASSERT_NO_FATAL_FAILURE(connect_own());
  EXPECT_EQ(rdma_disconnect(old.get()), 0);
  old.reset();
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(own, &attributes, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
  EXPECT_FALSE(readable(server_channel->fd, 0));
  EXPECT_EQ(rdma_disconnect(client.get()), 0);
  expect_ends();
  client.reset();
  destroy_own();
}

// Debian's /etc/hosts has the name of the host at 127.0.1.1.
TEST_F(CmIwarp, AWildcardHearsEachLoopbackAddress) {
  connect("0.0.0.0", "127.0.1.1");
  send(client.get(), server.get(), 'a');
}

TEST_F(CmIwarp, AnIdThatMovesHearsOfItsEndAtItsNewChannel) {
  connect();
  const CmChannelPtr other(rdma_create_event_channel());
  ASSERT_EQ(rdma_migrate_id(server.get(), other.get()), 0) << std::strerror(errno);
  EXPECT_EQ(rdma_disconnect(client.get()), 0);
  EXPECT_NE(next(other, RDMA_CM_EVENT_DISCONNECTED), nullptr);
  EXPECT_FALSE(readable(server_channel->fd, 0));
  server.reset();
}

TEST_F(CmIwarp, SynchronousEndpoints) {
  rdma_addrinfo hints{}, *info = nullptr;
  hints.ai_port_space = RDMA_PS_TCP;
  hints.ai_flags = RAI_PASSIVE;
  ASSERT_EQ(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &info), 0) << std::strerror(errno);
  ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
  rdma_cm_id *passive = nullptr, *request = nullptr, *active = nullptr;
  ASSERT_EQ(rdma_create_ep(&passive, info, nullptr, &init), 0) << std::strerror(errno);
  rdma_freeaddrinfo(info);
  ASSERT_EQ(rdma_listen(passive, 0), 0) << std::strerror(errno);
  std::thread serving([&] {
    ASSERT_EQ(rdma_get_request(passive, &request), 0) << std::strerror(errno);
    ASSERT_EQ(rdma_accept(request, nullptr), 0) << std::strerror(errno);
  });
  hints.ai_flags = 0;
  ASSERT_EQ(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &info), 0) << std::strerror(errno);
  init = qp_init(IBV_QPT_RC);
  ASSERT_EQ(rdma_create_ep(&active, info, nullptr, &init), 0) << std::strerror(errno);
  rdma_freeaddrinfo(info);
  ASSERT_EQ(rdma_connect(active, nullptr), 0) << std::strerror(errno);
  serving.join();
  ASSERT_NE(request, nullptr);
  send(active, request, 'a');
  EXPECT_EQ(rdma_disconnect(active), 0);
  EXPECT_EQ(rdma_disconnect(request), 0);
  for (rdma_cm_id* const id : {active, request, passive}) rdma_destroy_ep(id);
}

}  // namespace
}  // namespace softrnic::abi_test
