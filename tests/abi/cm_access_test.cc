// What a queue pair allows its peer (qp_access_flags) on connections of rdma_cm: each operation with each set
// of rights, set at each moment. What is shown holds. The program runs by each kind of device, and by each
// path.
#include <chrono>
#include <thread>

#include "tests/abi/cm_fixture.h"
#ifdef SOFTRNIC_TOOL
#include "tests/abi/cm_iwarp_fixture.h"
#endif

namespace softrnic::abi_test {
namespace {

constexpr unsigned kEverything = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct Operation {
  const char* name;
  ibv_wr_opcode opcode;
  unsigned right;
};
constexpr Operation kOperations[] = {
    {"WRITE", IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE},
    {"WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_ACCESS_REMOTE_WRITE},
    {"READ", IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ},
    {"CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_REMOTE_ATOMIC},
    {"FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC},
};

/// When the queue pair that is asked gets its rights.
enum class Moment { before_connecting, connected, after_traffic };

class CmAccess : public CmTest, public testing::WithParamInterface<Operation> {
 protected:
#ifdef SOFTRNIC_TOOL
  static void SetUpTestSuite() { make_iwarp_device(); }
  static void TearDownTestSuite() { stop_iwarp_daemon(); }
#endif

  static void allow(ibv_qp* qp, unsigned access) {
    ibv_qp_attr attributes{};
    attributes.qp_access_flags = access;
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    // on InfiniBand a transition of a state before RTS needs all of what that state asks for
    const int init = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX;
    const int mask = IBV_QP_ACCESS_FLAGS | (qp->state == IBV_QPS_INIT ? init : 0);
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, mask), 0) << std::strerror(errno);
  }
  static ibv_qp_attr query(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(qp, &attributes, IBV_QP_ACCESS_FLAGS | IBV_QP_STATE, &init), 0);
    return attributes;
  }
  void connect_with(unsigned access, Moment moment) {
    rdma_conn_param parameters{};
    parameters.responder_resources = parameters.initiator_depth = 1;
    listen("127.0.0.1");
    resolve("127.0.0.1");
    ASSERT_EQ(rdma_connect(client.get(), &parameters), 0) << std::strerror(errno);
    ASSERT_NE(take_request(), nullptr);
    if (moment == Moment::before_connecting) allow(server->qp, access);
    ASSERT_EQ(rdma_accept(server.get(), &parameters), 0) << std::strerror(errno);
    ASSERT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ESTABLISHED), nullptr);
    ASSERT_NE(expect_event(server_channel.get(), RDMA_CM_EVENT_ESTABLISHED), nullptr);
    EXPECT_EQ(query(client->qp).qp_access_flags & kEverything, kEverything);
    if (moment == Moment::before_connecting) return;
    register_memory();
    if (moment == Moment::after_traffic) carry_out({"", IBV_WR_RDMA_READ, 0});  // which is over by then
    allow(server->qp, access);
  }
  ibv_wc completion() {
    ibv_wc wc{};
    EXPECT_EQ(rdma_get_send_comp(client.get(), &wc), 1) << std::strerror(errno);
    return wc;
  }
  void post(const Operation& operation) {
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(&here_), sizeof here_, here_mr_->lkey};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.opcode = operation.opcode;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    const auto address = reinterpret_cast<std::uintptr_t>(&there_);
    if (operation.right == IBV_ACCESS_REMOTE_ATOMIC) {
      wr.wr.atomic = {address, there_, 77, there_mr_->rkey};
    } else {
      wr.wr.rdma = {address, there_mr_->rkey};
    }
    ASSERT_EQ(ibv_post_send(client->qp, &wr, &bad), 0) << std::strerror(errno);
  }
  void carry_out(const Operation& operation) {
    here_ = 0x2222222222222222;
    ASSERT_NO_FATAL_FAILURE(post(operation));
    EXPECT_EQ(completion().status, IBV_WC_SUCCESS);
  }
  /// By TCP a WRITE is complete once it is sent; what comes behind it is flushed, when the refusal is here.
  void be_refused(const Operation& operation) {
    here_ = 0x2222222222222222;
    ASSERT_NO_FATAL_FAILURE(post(operation));
    const ibv_wc wc = completion();
    const bool iwarp = client->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
    const bool writes = operation.right == IBV_ACCESS_REMOTE_WRITE;
    EXPECT_TRUE(wc.status != IBV_WC_SUCCESS || (iwarp && writes)) << "it is forbidden and succeeds";
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
    while (query(client->qp).qp_state != IBV_QPS_ERR && std::chrono::steady_clock::now() < limit)
      std::this_thread::yield();
    ASSERT_NO_FATAL_FAILURE(post({"", IBV_WR_SEND, 0}));
    EXPECT_EQ(completion().status, IBV_WC_WR_FLUSH_ERR);
  }
  void walk(unsigned access, Moment moment) {
    const Operation& operation = GetParam();
    here_ = there_ = 0x1111111111111111;
    ASSERT_NO_FATAL_FAILURE(connect_with(access, moment));
    register_memory();
    EXPECT_EQ(query(server->qp).qp_access_flags, effective(access, moment)) << "what is shown";
    if (operation.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
      ASSERT_EQ(rdma_post_recvv(server.get(), nullptr, nullptr, 0), 0);
    }
    if ((operation.right & ~effective(access, moment)) == 0) {
      carry_out(operation);
    } else {
      const std::uint64_t before = there_;
      be_refused(operation);
      EXPECT_EQ(there_, before) << "it has changed memory";
    }
    drop();
  }
  /// rdma_cm sets anew what was set before it connects.
  static unsigned effective(unsigned access, Moment moment) {
    return moment == Moment::before_connecting ? kEverything : access;
  }
  void register_memory() {
    if (here_mr_ != nullptr) return;
    here_mr_ = ibv_reg_mr(client->pd, &here_, sizeof here_, static_cast<int>(IBV_ACCESS_LOCAL_WRITE));
    there_mr_ = ibv_reg_mr(server->pd, &there_, sizeof there_, IBV_ACCESS_LOCAL_WRITE | kEverything);
    ASSERT_TRUE(here_mr_ != nullptr && there_mr_ != nullptr);
  }
  void drop() {
    for (ibv_mr** const mr : {&here_mr_, &there_mr_})
      if (*mr != nullptr) {
        EXPECT_EQ(ibv_dereg_mr(std::exchange(*mr, nullptr)), 0);
      }
    server.reset();
    client.reset();
    listener.reset();
  }

  alignas(8) std::uint64_t here_ = 0, there_ = 0;
  ibv_mr* here_mr_ = nullptr;
  ibv_mr* there_mr_ = nullptr;
};

TEST_P(CmAccess, IsWhatTheFlagsSay) {
  for (const Moment moment : {Moment::before_connecting, Moment::connected, Moment::after_traffic})
    for (unsigned bits = 0; bits < 8; ++bits) {
      unsigned access = 0;
      const unsigned rights[] = {IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC};
      for (unsigned i = 0; i < 3; ++i) access |= (bits >> i & 1U) != 0 ? rights[i] : 0;
      SCOPED_TRACE(std::string(GetParam().name) + ", access " + std::to_string(access) + ", moment " +
                   std::to_string(static_cast<int>(moment)));
      walk(access, moment);
      if (HasFatalFailure()) return drop();
    }
}

std::string name_of_operation(const testing::TestParamInfo<Operation>& info) {
  std::string name = info.param.name;
  std::erase(name, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Operations, CmAccess, testing::ValuesIn(kOperations), name_of_operation);

}  // namespace
}  // namespace softrnic::abi_test
