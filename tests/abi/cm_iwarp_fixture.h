// librdmacm on an iWARP device of the loopback interface, which the program sees alone (SOFTRNIC_DEVICE).
#pragma once

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "tests/abi/cm_fixture.h"

namespace softrnic::abi_test {

inline int tool(const std::string& words) { return std::system((SOFTRNIC_TOOL " " + words).c_str()); }

/// For one suite of a program, whose daemon then goes.
inline void make_iwarp_device() {
  setenv("SOFTRNIC_DEVICE", "iw0", 1);
  ASSERT_EQ(tool("link add iw0 type iwarp netdev lo"), 0);
}
inline void stop_iwarp_daemon() {
  EXPECT_EQ(tool("daemon --stop"), 0) << "with links of its own it is never idle";
}

class CmIwarp : public CmTest {
 protected:
  static void SetUpTestSuite() { make_iwarp_device(); }
  static void TearDownTestSuite() { stop_iwarp_daemon(); }

  static CmEventPtr next(const CmChannelPtr& channel, rdma_cm_event_type type, int status = 0) {
    return expect_event(channel.get(), type, status);
  }
  /// Both sides hear of the end.
  void expect_ends() {
    EXPECT_NE(next(client_channel, RDMA_CM_EVENT_DISCONNECTED), nullptr);
    EXPECT_NE(next(server_channel, RDMA_CM_EVENT_DISCONNECTED), nullptr);
  }
  void drop_ids() {
    server.reset();
    client.reset();
    listener.reset();
  }
  /// A request that the server has fetched.
  void ask() {
    listen("127.0.0.1");
    resolve("127.0.0.1");
    rdma_conn_param parameters{};
    ASSERT_EQ(rdma_connect(client.get(), &parameters), 0) << std::strerror(errno);
    ASSERT_NE(take_request(), nullptr);
  }
  void accept() {
    rdma_conn_param parameters{};
    ASSERT_EQ(rdma_accept(server.get(), &parameters), 0) << std::strerror(errno);
  }
  /// A client whose queue pair is not librdmacm's, and which stays when the client goes. A connection to the
  /// listener.
  void connect_own(std::optional<unsigned> access = std::nullopt) {
    resolve("127.0.0.1");
    rdma_destroy_qp(client.get());
    if (own == nullptr) {
      cq = ibv_create_cq(client->verbs, 16, nullptr, nullptr, 0);
      ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
      init.send_cq = init.recv_cq = cq;
      own = ibv_create_qp(client->pd, &init);
      ASSERT_NE(own, nullptr);
    }
    if (access) {
      ibv_qp_attr attributes{};
      attributes.qp_access_flags = *access;
      ASSERT_EQ(ibv_modify_qp(own, &attributes, IBV_QP_ACCESS_FLAGS), 0) << std::strerror(errno);
    }
    rdma_conn_param parameters{};
    parameters.qp_num = own->qp_num;
    ASSERT_EQ(rdma_connect(client.get(), &parameters), 0) << std::strerror(errno);
    ASSERT_NE(take_request(), nullptr);
    accept();
    ASSERT_NE(next(client_channel, RDMA_CM_EVENT_ESTABLISHED), nullptr);
    ASSERT_NE(next(server_channel, RDMA_CM_EVENT_ESTABLISHED), nullptr);
    ASSERT_EQ(own->state, IBV_QPS_RTS);
  }
  static ibv_qp_attr query(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(qp, &attributes, IBV_QP_ACCESS_FLAGS, &init), 0);
    return attributes;
  }
  template <typename Done>
  static bool comes_about(Done done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
    while (!done() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    return done();
  }
  void destroy_own() {
    EXPECT_EQ(ibv_destroy_qp(own), 0);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
  }
  static void break_qp(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), 0);
  }

  ibv_cq* cq = nullptr;
  ibv_qp* own = nullptr;  ///< the program's
};

}  // namespace softrnic::abi_test
