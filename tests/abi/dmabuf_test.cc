// Regions of dma-bufs by the verb: what it answers, and that traffic reaches them.
#include <cerrno>
#include <cstring>

#include "tests/abi/verbs_fixture.h"
#include "tests/support/udmabuf.h"

namespace softrnic::abi_test {
namespace {

constexpr std::size_t kDmabufBytes = 16 * kPage;
constexpr std::uint64_t kDmabufIova = std::uint64_t{1} << 40;

class DmabufRegions : public VerbsTest {};

TEST_F(DmabufRegions, ErrnosAreThoseOfTheKernel) {
  const auto refusal = [&](std::uint64_t offset, std::uint64_t iova, int fd, int access) {
    errno = 0;
    EXPECT_EQ(ibv_reg_dmabuf_mr(pd.get(), offset, kPage, iova, fd, access), nullptr);
    return errno;
  };
  EXPECT_EQ(refusal(0, 0, -1, 0), EBADF);
  EXPECT_EQ(refusal(0, 0, pd->context->cmd_fd, 0), EINVAL) << "a memfd";
  EXPECT_EQ(refusal(0, 8, -1, 0), EINVAL);
  EXPECT_EQ(refusal(0, 0, -1, IBV_ACCESS_REMOTE_WRITE), EINVAL);
  EXPECT_EQ(refusal(0, 0, -1, IBV_ACCESS_RELAXED_ORDERING), EBADF) << "a hint";
}

/// All of a dma-buf, whose own descriptor is closed.
class DmabufTraffic : public DmabufRegions {
 protected:
  void SetUp() override {
    DmabufRegions::SetUp();
    if (!buffer.why_not().empty()) GTEST_SKIP() << buffer.why_not();
    region.reset(ibv_reg_dmabuf_mr(pd.get(), 0, kDmabufBytes, kDmabufIova, buffer.fd(),
                                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                       IBV_ACCESS_REMOTE_ATOMIC));
    ASSERT_NE(region, nullptr) << std::strerror(errno);
    buffer.close_fd();
    mr = make_mr(plain, sizeof plain, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    a = make_qp(IBV_QPT_RC);
    b = make_qp(IBV_QPT_RC);
    connect(a.get(), b.get());
  }
  ibv_wc_status run(ibv_wr_opcode opcode, ibv_sge sge, std::uint64_t address, std::uint32_t rkey) {
    ibv_send_wr wr{}, *bad = nullptr;
    wr.opcode = opcode;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.send_flags = IBV_SEND_SIGNALED;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {.remote_addr = address, .compare_add = 5, .swap = 0, .rkey = rkey};
    } else {
      wr.wr.rdma = {.remote_addr = address, .rkey = rkey};
    }
    EXPECT_EQ(ibv_post_send(a.get(), &wr, &bad), 0);
    return collect(cq.get(), 1)[0].status;
  }

  test::Udmabuf buffer{kDmabufBytes};
  alignas(8) char plain[kDmabufBytes] = {};
  MrPtr region;
  MrPtr mr;
  QpPtr a;
  QpPtr b;
};

TEST_F(DmabufTraffic, PeersWriteReadAndCount) {
  std::memset(plain, 'w', sizeof plain);
  EXPECT_EQ(run(IBV_WR_RDMA_WRITE, sge_of(plain, kDmabufBytes - 8, mr.get()), kDmabufIova + 8, region->rkey),
            IBV_WC_SUCCESS);
  EXPECT_EQ(buffer.memory()[7], 0);
  EXPECT_EQ(std::memcmp(buffer.memory() + 8, plain, kDmabufBytes - 8), 0);
  std::memset(buffer.memory(), 'r', kDmabufBytes);
  EXPECT_EQ(run(IBV_WR_RDMA_READ, sge_of(plain, kDmabufBytes, mr.get()), kDmabufIova, region->rkey),
            IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(buffer.memory(), plain, kDmabufBytes), 0);
  std::memset(buffer.memory(), 0, 8);
  EXPECT_EQ(run(IBV_WR_ATOMIC_FETCH_AND_ADD, sge_of(plain, 8, mr.get()), kDmabufIova, region->rkey),
            IBV_WC_SUCCESS);
  EXPECT_EQ(buffer.memory()[0], 5);
  EXPECT_EQ(run(IBV_WR_RDMA_WRITE, sge_of(plain, 8, mr.get()), kDmabufIova + kDmabufBytes - 4, region->rkey),
            IBV_WC_REM_ACCESS_ERR);
}

TEST_F(DmabufTraffic, ItIsSentFromAndReceivedInto) {
  std::memset(buffer.memory(), 's', kDmabufBytes);
  ibv_sge sge{kDmabufIova, static_cast<std::uint32_t>(kDmabufBytes / 2), region->lkey};
  EXPECT_EQ(run(IBV_WR_RDMA_WRITE, sge, reinterpret_cast<std::uint64_t>(plain), mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(buffer.memory(), plain, kDmabufBytes / 2), 0);
  const ibv_sge into{kDmabufIova + kDmabufBytes / 2, static_cast<std::uint32_t>(kDmabufBytes / 2),
                     region->lkey};
  ASSERT_EQ(post_recv(b.get(), 1, into), 0);
  std::memset(plain, 't', sizeof plain);
  ASSERT_EQ(post_send(a.get(), 2, sge_of(plain, kDmabufBytes / 2, mr.get())), 0);
  for (const ibv_wc& wc : collect(cq.get(), 2)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(buffer.memory() + kDmabufBytes / 2, plain, kDmabufBytes / 2), 0);
}

}  // namespace
}  // namespace softrnic::abi_test
