// XRC through the C surface: domains by file, numbered SRQs, initiators and shared targets.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <thread>

#include "tests/abi/verbs_fixture.h"
#include "tests/support/fork_at_rest.h"

namespace softrnic::abi_test {
namespace {

using XrcdPtr = Owner<ibv_xrcd, ibv_close_xrcd>;

class File {
 public:
  File() : file_(std::tmpfile()) {}
  ~File() { std::fclose(file_); }
  int fd() const { return fileno(file_); }

 private:
  std::FILE* file_;
};

class XrcTest : public VerbsTest {
 protected:
  XrcdPtr open(int fd, int oflags, std::uint32_t mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS) {
    ibv_xrcd_init_attr attributes{mask, fd, oflags};
    errno = 0;
    return XrcdPtr(ibv_open_xrcd(context.get(), &attributes));
  }
  SrqPtr make_srq(ibv_xrcd* xrcd, ibv_cq* to) {
    ibv_srq_init_attr_ex init{};
    init.attr = {.max_wr = 16, .max_sge = 1, .srq_limit = 0};
    init.comp_mask =
        IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    init.srq_type = IBV_SRQT_XRC;
    init.pd = pd.get();
    init.xrcd = xrcd;
    init.cq = to;
    errno = 0;
    return SrqPtr(ibv_create_srq_ex(context.get(), &init));
  }
  QpPtr make_target(ibv_xrcd* xrcd) {
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_RECV;
    init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    init.xrcd = xrcd;
    return QpPtr(ibv_create_qp_ex(context.get(), &init));
  }
  QpPtr make_initiator(std::uint64_t operations = 0) {
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_SEND;
    init.send_cq = cq.get();
    init.cap = {
        .max_send_wr = 16, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 64};
    init.comp_mask = IBV_QP_INIT_ATTR_PD;
    if (operations != 0) init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = operations;
    init.pd = pd.get();
    return QpPtr(ibv_create_qp_ex(context.get(), &init));
  }
  void to_ready(ibv_qp* qp, std::uint32_t peer) {
    ASSERT_EQ(to_init(qp), 0);
    ASSERT_EQ(to_rtr(qp, peer), 0);
    ASSERT_EQ(to_rts(qp), 0);
  }
  static std::uint32_t number_of(ibv_srq* srq) {
    std::uint32_t number = 0;
    EXPECT_EQ(ibv_get_srq_num(srq, &number), 0);
    return number;
  }
  static void receive(ibv_srq* srq, std::uint64_t id, ibv_sge sge) {
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ASSERT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
  }
  static void send(ibv_qp* qp, std::uint32_t srqn, ibv_sge sge) {
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.qp_type.xrc.remote_srqn = srqn;
    ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  }
};

TEST_F(XrcTest, TheDeviceSaysSo) {
  ibv_device_attr attributes;
  ASSERT_EQ(ibv_query_device(context.get(), &attributes), 0);
  EXPECT_NE(attributes.device_cap_flags & IBV_DEVICE_XRC, 0U);
  ibv_device_attr_ex extended;
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &extended), 0);
}

TEST_F(XrcTest, DomainsOfAFile) {
  const File file, other;
  EXPECT_EQ(open(file.fd(), 0), nullptr);
  EXPECT_EQ(errno, EAGAIN);
  const XrcdPtr one = open(file.fd(), O_CREAT | O_EXCL);
  ASSERT_NE(one, nullptr);
  const XrcdPtr two = open(file.fd(), 0);
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(open(file.fd(), O_CREAT | O_EXCL), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_NE(open(other.fd(), O_CREAT | O_EXCL), nullptr);
  EXPECT_NE(open(-1, O_CREAT), nullptr);
  EXPECT_EQ(open(-1, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(open(12345, O_CREAT), nullptr);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(open(-1, O_CREAT | O_TRUNC), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(open(-1, O_CREAT, IBV_XRCD_INIT_ATTR_FD), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(open(-1, O_CREAT, 0x70), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(XrcTest, IncompleteObjectsAreRefused) {
  const XrcdPtr xrcd = open(-1, O_CREAT);
  EXPECT_EQ(make_target(nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(make_srq(nullptr, cq.get()), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(make_srq(xrcd.get(), nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(XrcTest, AUsedDomainIsNotClosed) {
  XrcdPtr xrcd = open(-1, O_CREAT);
  {
    const SrqPtr srq = make_srq(xrcd.get(), cq.get());
    ASSERT_NE(srq, nullptr) << std::strerror(errno);
    EXPECT_EQ(ibv_close_xrcd(xrcd.get()), EBUSY);
  }
  const QpPtr target = make_target(xrcd.get());
  ASSERT_NE(target, nullptr) << std::strerror(errno);
  EXPECT_EQ(ibv_close_xrcd(xrcd.get()), EBUSY);
  EXPECT_EQ(target->pd, nullptr);
  EXPECT_EQ(target->send_cq, nullptr);
}

TEST_F(XrcTest, MessagesGoToTheSrqThatTheyName) {
  const File file;
  const XrcdPtr xrcd = open(file.fd(), O_CREAT), again = open(file.fd(), 0);
  const CqPtr arrivals(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0));
  const SrqPtr one = make_srq(xrcd.get(), arrivals.get()), two = make_srq(again.get(), cq.get());
  const QpPtr target = make_target(xrcd.get());
  const QpPtr initiator = make_initiator();
  ASSERT_TRUE(one && two && target && initiator) << std::strerror(errno);
  to_ready(target.get(), initiator->qp_num);
  to_ready(initiator.get(), target->qp_num);
  char from[64] = "to whom it may concern", to[2][64]{};
  const MrPtr from_mr = make_mr(from, sizeof from, 0), to_mr = make_mr(to, sizeof to, IBV_ACCESS_LOCAL_WRITE);
  receive(one.get(), 1, sge_of(to[0], 64, to_mr.get()));
  receive(two.get(), 2, sge_of(to[1], 64, to_mr.get()));
  send(initiator.get(), number_of(one.get()), sge_of(from, 64, from_mr.get()));
  const ibv_wc arrived = collect(arrivals.get(), 1)[0];
  EXPECT_EQ(arrived.wr_id, 1U);
  EXPECT_EQ(arrived.qp_num, target->qp_num);
  EXPECT_EQ(arrived.src_qp, initiator->qp_num);
  EXPECT_STREQ(to[0], from);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
  send(initiator.get(), number_of(two.get()), sge_of(from, 64, from_mr.get()));
  for (const ibv_wc& wc : collect(cq.get(), 2)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_STREQ(to[1], from) << "a domain opened twice by its file is one";
}

TEST_F(XrcTest, TheExtendedInterfaceNamesTheSrq) {
  const XrcdPtr xrcd = open(-1, O_CREAT);
  const CqPtr arrivals(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0));
  const SrqPtr srq = make_srq(xrcd.get(), arrivals.get());
  const QpPtr target = make_target(xrcd.get());
  const QpPtr initiator = make_initiator(IBV_QP_EX_WITH_SEND_WITH_IMM);
  ASSERT_TRUE(srq && target && initiator) << std::strerror(errno);
  to_ready(target.get(), initiator->qp_num);
  to_ready(initiator.get(), target->qp_num);
  char from[8] = "payload", to[8]{};
  const MrPtr to_mr = make_mr(to, sizeof to, IBV_ACCESS_LOCAL_WRITE);
  receive(srq.get(), 1, sge_of(to, 8, to_mr.get()));
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(initiator.get());
  ibv_wr_start(qp);
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send_imm(qp, 77);
  ibv_wr_set_xrc_srqn(qp, number_of(srq.get()));
  ibv_wr_set_inline_data(qp, from, sizeof from);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  const ibv_wc arrived = collect(arrivals.get(), 1)[0];
  EXPECT_EQ(arrived.imm_data, 77U);
  EXPECT_STREQ(to, from);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
}

TEST_F(XrcTest, ATargetIsSharedAndLivesAsLongAsAnyOfIt) {
  const XrcdPtr xrcd = open(-1, O_CREAT);
  const CqPtr arrivals(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0));
  const SrqPtr srq = make_srq(xrcd.get(), arrivals.get());
  QpPtr target = make_target(xrcd.get());
  const QpPtr initiator = make_initiator();
  ASSERT_TRUE(srq && target && initiator);
  to_ready(target.get(), initiator->qp_num);
  to_ready(initiator.get(), target->qp_num);
  ibv_qp_open_attr attributes{};
  attributes.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  attributes.qp_num = target->qp_num;
  attributes.xrcd = xrcd.get();
  attributes.qp_type = IBV_QPT_RC;
  EXPECT_EQ(ibv_open_qp(context.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attributes.qp_type = IBV_QPT_XRC_RECV;
  attributes.qp_num = initiator->qp_num;
  EXPECT_EQ(ibv_open_qp(context.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attributes.qp_num = target->qp_num;
  const QpPtr shared(ibv_open_qp(context.get(), &attributes));
  ASSERT_NE(shared, nullptr) << std::strerror(errno);
  EXPECT_EQ(shared->qp_num, target->qp_num);
  EXPECT_EQ(shared->state, IBV_QPS_RTS);
  target.reset();
  char from[8] = "payload", to[8]{};
  const MrPtr from_mr = make_mr(from, sizeof from, 0), to_mr = make_mr(to, sizeof to, IBV_ACCESS_LOCAL_WRITE);
  receive(srq.get(), 1, sge_of(to, 8, to_mr.get()));
  send(initiator.get(), number_of(srq.get()), sge_of(from, 8, from_mr.get()));
  EXPECT_EQ(collect(arrivals.get(), 1)[0].status, IBV_WC_SUCCESS);
  EXPECT_STREQ(to, from);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
}

TEST_F(XrcTest, AnSrqThatIsGoneIsRefused) {
  const XrcdPtr xrcd = open(-1, O_CREAT);
  SrqPtr srq = make_srq(xrcd.get(), cq.get());
  const std::uint32_t number = number_of(srq.get());
  srq.reset();
  const QpPtr target = make_target(xrcd.get());
  const QpPtr initiator = make_initiator();
  to_ready(target.get(), initiator->qp_num);
  to_ready(initiator.get(), target->qp_num);
  char from[8]{};
  const MrPtr from_mr = make_mr(from, sizeof from, 0);
  send(initiator.get(), number, sge_of(from, 8, from_mr.get()));
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_REM_INV_REQ_ERR);
  ibv_async_event event;
  ASSERT_TRUE(readable(context->async_fd, 5000));
  ASSERT_EQ(ibv_get_async_event(context.get(), &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_REQ_ERR);
  EXPECT_EQ(event.element.qp, target.get());
  ibv_ack_async_event(&event);
}

// What had been taken of it is not completed any more, and what comes then is refused.
TEST_F(XrcTest, AnSrqIsDestroyedWhileMessagesComeForIt) {
  constexpr int kMessages = 8, kRounds = 40;
  const XrcdPtr xrcd = open(-1, O_CREAT);
  const CqPtr arrivals(ibv_create_cq(context.get(), kMessages, nullptr, nullptr, 0));
  std::vector<char> from(100'000, 'x'), to(from.size());
  const MrPtr from_mr = make_mr(from.data(), from.size(), 0);
  const MrPtr to_mr = make_mr(to.data(), to.size(), IBV_ACCESS_LOCAL_WRITE);
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    SrqPtr srq = make_srq(xrcd.get(), arrivals.get());
    const QpPtr target = make_target(xrcd.get());
    const QpPtr initiator = make_initiator();
    to_ready(target.get(), initiator->qp_num);
    to_ready(initiator.get(), target->qp_num);
    for (int i = 0; i < kMessages; ++i) receive(srq.get(), 1, sge_of(to.data(), to.size(), to_mr.get()));
    std::thread sender([&, number = number_of(srq.get())] {
      for (int i = 0; i < kMessages; ++i)
        send(initiator.get(), number, sge_of(from.data(), from.size(), from_mr.get()));
      for (const ibv_wc& wc : collect(cq.get(), kMessages)) {
        if (wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR) ++refused;
        EXPECT_TRUE(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR ||
                    wc.status == IBV_WC_REM_INV_REQ_ERR)
            << wc.status;
      }
    });
    if (round % 2 == 0) std::this_thread::yield();
    srq.reset();
    sender.join();
    for (ibv_wc wc{}; ibv_poll_cq(arrivals.get(), 1, &wc) == 1;) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  }
  EXPECT_GT(refused, 0) << "it was never in the middle";
}

/// What a process has that opens the same file; 0: what docs/verbs.md says of it.
int of_another_process(int fd, std::uint32_t target) {
  const ContextPtr context(open_first());
  if (context == nullptr) return 1;
  ibv_xrcd_init_attr attributes{IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, fd, 0};
  errno = 0;
  if (ibv_open_xrcd(context.get(), &attributes) != nullptr || errno != EAGAIN) return 2;
  attributes.oflags = O_CREAT;
  const XrcdPtr xrcd(ibv_open_xrcd(context.get(), &attributes));
  if (xrcd == nullptr) return 3;
  ibv_qp_open_attr wanted{};
  wanted.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  wanted.qp_num = target;
  wanted.xrcd = xrcd.get();
  wanted.qp_type = IBV_QPT_XRC_RECV;
  errno = 0;
  return ibv_open_qp(context.get(), &wanted) == nullptr && errno == EINVAL ? 0 : 4;
}

TEST_F(XrcTest, AnotherProcessHasDomainsOfItsOwn) {
  const File file;
  const XrcdPtr xrcd = open(file.fd(), O_CREAT);
  const QpPtr target = make_target(xrcd.get());
  ASSERT_NE(target, nullptr);
  const pid_t child = test::fork_at_rest();
  if (child == 0) _exit(of_another_process(file.fd(), target->qp_num));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0)
      << "3: not even its own; 4: it could open the target, or for another reason not";
}

}  // namespace
}  // namespace softrnic::abi_test
