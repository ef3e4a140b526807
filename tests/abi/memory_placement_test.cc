// Memory placement extensions: ibv_wr_atomic_write and ibv_wr_flush (IBTA A19).
#include <cerrno>

#include "tests/abi/newer_verbs.h"

namespace softrnic::abi_test {
namespace {

// Debian 12's header does not have FLUSH.
constexpr std::uint64_t kExWithFlush = 1 << 11;
constexpr auto kWcFlush = static_cast<ibv_wc_opcode>(8);
constexpr unsigned kFlushGlobalAccess = 1 << 8, kFlushPersistentAccess = 1 << 9;
constexpr std::uint8_t kGlobal = 1, kPersistent = 2;  // enum ibv_placement_type
constexpr std::uint8_t kRange = 0, kRegion = 1;       // enum ibv_selectivity_level

/// As the header of a program of today has it.
struct NewerQpEx {
  ibv_qp_ex known;
  void (*wr_flush)(ibv_qp_ex*, std::uint32_t, std::uint64_t, std::size_t, std::uint8_t, std::uint8_t);
};

class MemoryPlacementTest : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    region = make_mr(words, sizeof words,
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | static_cast<int>(kFlushGlobalAccess));
    ASSERT_NE(region, nullptr) << std::strerror(errno);
    sender =
        make_extended(IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_WRITE | kExWithFlush | IBV_QP_EX_WITH_RDMA_WRITE);
    receiver = make_qp(IBV_QPT_RC);
    ASSERT_NE(sender, nullptr) << std::strerror(errno);
    connect(sender.get(), receiver.get());
    allow(kFlushGlobalAccess);
    qp = ibv_qp_to_qp_ex(sender.get());
    qp->wr_flags = IBV_SEND_SIGNALED;
  }

  /// What the receiver lets its peer do besides WRITEs.
  void allow(unsigned access) {
    ibv_qp_attr attributes{};
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | access;
    ASSERT_EQ(ibv_modify_qp(receiver.get(), &attributes, IBV_QP_ACCESS_FLAGS), 0);
  }
  std::uint64_t address(std::size_t word) const { return reinterpret_cast<std::uintptr_t>(&words[word]); }
  void flush(std::uint64_t at, std::size_t length, std::uint8_t type, std::uint8_t level) {
    reinterpret_cast<NewerQpEx*>(qp)->wr_flush(qp, region->rkey, at, length, type, level);
  }
  /// The completion of a batch of one work request.
  template <typename Build>
  ibv_wc run(Build&& build) {
    ibv_wr_start(qp);
    build();
    EXPECT_EQ(ibv_wr_complete(qp), 0);
    return collect(cq.get(), 1)[0];
  }

  alignas(8) std::uint64_t words[8]{};
  MrPtr region;
  QpPtr sender, receiver;
  ibv_qp_ex* qp = nullptr;
};

TEST_F(MemoryPlacementTest, TheDeviceSaysWhatItCan) {
  ibv_device_attr_ex attributes{};
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &attributes), 0);
  EXPECT_NE(attributes.device_cap_flags_ex & std::uint64_t{1} << 38, 0U) << "FLUSH_GLOBAL";
  EXPECT_EQ(attributes.device_cap_flags_ex & std::uint64_t{1} << 39, 0U) << "FLUSH_PERSISTENT";
  EXPECT_NE(attributes.device_cap_flags_ex & std::uint64_t{1} << 40, 0U) << "ATOMIC_WRITE";
}

TEST_F(MemoryPlacementTest, AnAtomicWriteWritesAWord) {
  std::uint64_t value = 0x0123456789abcdef;
  for (std::size_t i = 0; i < 20; ++i, ++value) {
    const ibv_wc wc = run([&] {
      ibv_wr_atomic_write(qp, region->rkey, address(i % 8), &value);
      value += 1;  // it was copied
    });
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_ATOMIC_WRITE);
    EXPECT_EQ(words[i % 8], value - 1);
  }
}

TEST_F(MemoryPlacementTest, AnAtomicWriteByThePlainInterface) {
  std::uint64_t value = 77;
  const MrPtr source = make_mr(&value, sizeof value, 0);
  ibv_sge sge = sge_of(reinterpret_cast<char*>(&value), sizeof value, source.get());
  ibv_send_wr wr{}, *bad = nullptr;
  wr.opcode = IBV_WR_ATOMIC_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.rdma = {address(3), region->rkey};
  ASSERT_EQ(ibv_post_send(sender.get(), &wr, &bad), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(words[3], 77U);
  sge.length = 4;
  EXPECT_EQ(ibv_post_send(sender.get(), &wr, &bad), EINVAL);
}

TEST_F(MemoryPlacementTest, AMisalignedAtomicWriteIsInvalid) {
  const std::uint64_t value = 1;
  EXPECT_EQ(run([&] { ibv_wr_atomic_write(qp, region->rkey, address(0) + 4, &value); }).status,
            IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(MemoryPlacementTest, AnAtomicWriteNeedsRemoteWriteOfTheRegion) {
  const MrPtr closed = make_mr(words, sizeof words, IBV_ACCESS_LOCAL_WRITE);
  const std::uint64_t value = 1;
  EXPECT_EQ(run([&] { ibv_wr_atomic_write(qp, closed->rkey, address(0), &value); }).status,
            IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(words[0], 0U);
}

TEST_F(MemoryPlacementTest, AFlushOfARangeAndOfTheRegion) {
  EXPECT_EQ(run([&] { flush(address(0), sizeof words, kGlobal, kRange); }).opcode, kWcFlush);
  EXPECT_EQ(run([&] { flush(address(2), 8, kGlobal, kRange); }).status, IBV_WC_SUCCESS);
  EXPECT_EQ(run([&] { flush(0, 0, kGlobal, kRegion); }).status, IBV_WC_SUCCESS);
}

TEST_F(MemoryPlacementTest, AFlushEndsAfterTheWriteBeforeIt) {
  std::uint64_t value = 5;
  ibv_wr_start(qp);
  qp->wr_flags = 0;
  ibv_wr_rdma_write(qp, region->rkey, address(1));
  ibv_wr_set_inline_data(qp, &value, sizeof value);
  qp->wr_flags = IBV_SEND_SIGNALED;
  flush(address(1), 8, kGlobal, kRange);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(words[1], 5U);
}

TEST_F(MemoryPlacementTest, AFlushBeyondTheRegionIsAnAccessError) {
  EXPECT_EQ(run([&] { flush(address(7), 16, kGlobal, kRange); }).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(MemoryPlacementTest, AFlushNeedsTheAccessOfTheQueuePair) {
  allow(0);
  EXPECT_EQ(run([&] { flush(address(0), 8, kGlobal, kRange); }).status, IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(MemoryPlacementTest, AFlushNeedsTheAccessOfTheRegion) {
  region = make_mr(words, sizeof words, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  EXPECT_EQ(run([&] { flush(0, 0, kGlobal, kRegion); }).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(MemoryPlacementTest, MemoryThatOutlivesALossOfPowerIsNotThere) {
  errno = 0;
  EXPECT_EQ(make_mr(words, sizeof words, static_cast<int>(kFlushPersistentAccess)), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  allow(kFlushGlobalAccess | kFlushPersistentAccess);
  EXPECT_EQ(run([&] { flush(address(0), 8, kGlobal | kPersistent, kRange); }).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(MemoryPlacementTest, AFlushThatDoesNotExistIsNotPosted) {
  const auto post = [&](std::size_t length, std::uint8_t type, std::uint8_t level) {
    ibv_wr_start(qp);
    flush(address(0), length, type, level);
    return ibv_wr_complete(qp);
  };
  EXPECT_EQ(post(8, 0, kRange), EINVAL);
  EXPECT_EQ(post(8, 4, kRange), EINVAL);
  EXPECT_EQ(post(8, 0x11, kRange), EINVAL);
  EXPECT_EQ(post(8, kGlobal, 2), EINVAL);
  EXPECT_EQ(post(std::size_t{1} << 33, kGlobal, kRange), EINVAL);
}

TEST_F(MemoryPlacementTest, OnlyReliableConnectionsHaveThem) {
  for (const std::uint64_t operation : {std::uint64_t{IBV_QP_EX_WITH_ATOMIC_WRITE}, kExWithFlush}) {
    for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND}) {
      EXPECT_EQ(make_extended(type, operation), nullptr);
      EXPECT_EQ(errno, EOPNOTSUPP);
    }
  }
}

}  // namespace
}  // namespace softrnic::abi_test
