// XRC by rdma_cm: an initiator on one side, a target and the SRQ that it feeds on the other.
#include <netinet/in.h>

#include <cstring>
#include <thread>

#include "tests/abi/cm_fixture.h"

namespace softrnic::abi_test {
namespace {

struct DestroyEndpoint {
  void operator()(rdma_cm_id* id) const { rdma_destroy_ep(id); }
};
using EndpointPtr = std::unique_ptr<rdma_cm_id, DestroyEndpoint>;

ibv_qp_init_attr initiator_init() {
  ibv_qp_init_attr init{};
  init.cap.max_send_wr = init.cap.max_send_sge = 1;
  init.sq_sig_all = 1;
  return init;
}
ibv_qp_init_attr target_init() {
  ibv_qp_init_attr init{};
  init.cap.max_recv_wr = init.cap.max_recv_sge = 1;
  return init;
}

/// Made as librdmacm's rdma_xserver and rdma_xclient make them.
EndpointPtr make_endpoint(ibv_qp_type type, const char* port, ibv_qp_init_attr init) {
  rdma_addrinfo hints{}, *info = nullptr;
  hints.ai_flags = type == IBV_QPT_XRC_RECV ? RAI_PASSIVE : 0;
  hints.ai_port_space = RDMA_PS_IB;
  hints.ai_qp_type = type;
  EXPECT_EQ(rdma_getaddrinfo("127.0.0.1", port, &hints, &info), 0);
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(rdma_create_ep(&id, info, nullptr, &init), 0) << std::strerror(errno);
  rdma_freeaddrinfo(info);
  return EndpointPtr(id);
}

class CmXrc : public testing::Test {
 protected:
  static constexpr const char* kPort = "7481";

  /// The target of the next request, with an SRQ of its own, of `receives` places.
  EndpointPtr take_request(std::uint32_t receives) const {
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(rdma_get_request(listener.get(), &id), 0) << std::strerror(errno);
    if (id == nullptr) return nullptr;
    EndpointPtr made(id);
    ibv_srq_init_attr init{};
    init.attr = {.max_wr = receives, .max_sge = 1, .srq_limit = 0};
    EXPECT_EQ(rdma_create_srq(id, nullptr, &init), 0) << std::strerror(errno);
    return made;
  }
  static std::uint32_t number_of(ibv_srq* srq) {
    std::uint32_t number = 0;
    EXPECT_EQ(ibv_get_srq_num(srq, &number), 0);
    return number;
  }
  static int accept(rdma_cm_id* target) {
    const std::uint32_t number = number_of(target->srq);
    rdma_conn_param parameters{};
    parameters.private_data = &number;
    parameters.private_data_len = sizeof number;
    return rdma_accept(target, &parameters);
  }
  /// Connects `initiator` while the target side does its part.
  void connect(std::uint32_t receives) {
    std::thread serving([&] {
      target = take_request(receives);
      ASSERT_NE(target, nullptr);
      EXPECT_EQ(accept(target.get()), 0) << std::strerror(errno);
    });
    EXPECT_EQ(rdma_connect(initiator.get(), nullptr), 0) << std::strerror(errno);
    serving.join();
  }
  std::uint32_t told_number() const {
    std::uint32_t number = 0;
    EXPECT_GE(initiator->event->param.conn.private_data_len, sizeof number);
    std::memcpy(&number, initiator->event->param.conn.private_data, sizeof number);
    return number;
  }

  EndpointPtr listener = make_endpoint(IBV_QPT_XRC_RECV, kPort, target_init());
  EndpointPtr initiator, target;
};

TEST_F(CmXrc, AMessageComesToTheSrqThatItNames) {
  ASSERT_EQ(rdma_listen(listener.get(), 1), 0) << std::strerror(errno);
  initiator = make_endpoint(IBV_QPT_XRC_SEND, kPort, initiator_init());
  connect(64);
  ASSERT_NE(target, nullptr);
  ASSERT_NE(target->qp, nullptr);
  EXPECT_EQ(target->qp->qp_type, IBV_QPT_XRC_RECV);
  EXPECT_EQ(initiator->qp->qp_type, IBV_QPT_XRC_SEND);
  EXPECT_EQ(initiator->event->param.conn.qp_num, target->qp->qp_num);
  EXPECT_EQ(initiator->event->param.conn.srq, 1) << "as Linux' ib_cm tells of every target";
  EXPECT_EQ(told_number(), number_of(target->srq));
  // The CQ was made with the target, for one receive; it holds those of the SRQ by now.
  EXPECT_GE(target->recv_cq->cqe, 64);
  EXPECT_EQ(target->srq->context, target->verbs);

  char out[16] = "for one of them", in[16]{};
  ibv_mr* const mr = rdma_reg_msgs(target.get(), in, sizeof in);
  ASSERT_NE(mr, nullptr) << std::strerror(errno);
  ASSERT_EQ(rdma_post_recv(target.get(), nullptr, in, sizeof in, mr), 0);
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(out), sizeof out, 0};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_INLINE;
  wr.qp_type.xrc.remote_srqn = told_number();
  ASSERT_EQ(ibv_post_send(initiator->qp, &wr, &bad), 0);
  ibv_wc wc{};
  ASSERT_EQ(rdma_get_send_comp(initiator.get(), &wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  ASSERT_EQ(rdma_get_recv_comp(target.get(), &wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_STREQ(in, out);
  EXPECT_EQ(rdma_dereg_mr(mr), 0);
  EXPECT_EQ(rdma_disconnect(initiator.get()), 0) << std::strerror(errno);
}

TEST_F(CmXrc, TheAttributesAreThoseOfOneHalf) {
  ASSERT_EQ(rdma_listen(listener.get(), 1), 0);
  initiator = make_endpoint(IBV_QPT_XRC_SEND, kPort, initiator_init());
  connect(1);
  ASSERT_NE(target, nullptr);
  const auto mask_of = [](rdma_cm_id* id, ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    int mask = 0;
    EXPECT_EQ(rdma_init_qp_attr(id, &attributes, &mask), 0) << std::strerror(errno);
    return mask;
  };
  constexpr int kRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  constexpr int kRts = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT;
  EXPECT_EQ(mask_of(initiator.get(), IBV_QPS_RTR), kRtr);
  EXPECT_EQ(mask_of(target.get(), IBV_QPS_RTR), kRtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  EXPECT_EQ(mask_of(initiator.get(), IBV_QPS_RTS),
            kRts | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  EXPECT_EQ(mask_of(target.get(), IBV_QPS_RTS), kRts);
}

TEST_F(CmXrc, ATargetTakesNoConnectionOfRc) {
  ASSERT_EQ(rdma_listen(listener.get(), 1), 0);
  ibv_qp_init_attr both_ways = initiator_init();
  both_ways.cap.max_recv_wr = both_ways.cap.max_recv_sge = 1;
  initiator = make_endpoint(IBV_QPT_RC, kPort, both_ways);
  errno = 0;
  EXPECT_EQ(rdma_connect(initiator.get(), nullptr), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST_F(CmXrc, AnSrqWithoutATargetHasItsOwnQueue) {
  initiator = make_endpoint(IBV_QPT_XRC_RECV, "7482", target_init());
  rdma_cm_id* const id = initiator.get();
  ASSERT_NE(id->verbs, nullptr);
  ibv_srq_init_attr_ex init{};
  init.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
  init.srq_type = IBV_SRQT_XRC;
  ASSERT_EQ(rdma_create_srq_ex(id, &init), 0) << std::strerror(errno);
  EXPECT_NE(init.xrcd, nullptr);
  EXPECT_EQ(init.cq, id->recv_cq);
  EXPECT_NE(id->recv_cq_channel, nullptr);
  EXPECT_NE(number_of(id->srq), 0U);
  rdma_destroy_srq(id);
  EXPECT_EQ(id->recv_cq, nullptr);
}

}  // namespace
}  // namespace softrnic::abi_test
