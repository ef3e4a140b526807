// Send work requests of verbs as they lie in the send queue.
#include "rnic/send_wqe.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace softrnic::rnic {
namespace {

class SendWqeTest : public ::testing::Test {
 protected:
  ib::SendWqe& fill(const ibv_send_wr& wr, const SendDefaults& defaults = {.type = IBV_QPT_RC, .qpn = {}}) {
    wqe = {};
    ib::SendSlot slot{&wqe, sges, inline_data, {}};
    fill_send(slot, wr, defaults);
    return wqe;
  }
  static ibv_send_wr request(ibv_wr_opcode opcode) {
    ibv_send_wr wr{};
    wr.wr_id = 77;
    wr.opcode = opcode;
    return wr;
  }

  ib::SendWqe wqe;
  std::array<ib::Sge, 4> sges{};
  std::array<std::byte, 64> inline_data{};
};

TEST_F(SendWqeTest, FlagsAndNumbersAreTakenOver) {
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE_WITH_IMM);
  wr.send_flags = IBV_SEND_SOLICITED | IBV_SEND_FENCE;
  wr.imm_data = htonl(0x01020304);
  wr.wr.rdma = {0x1234, 9};
  fill(wr);
  EXPECT_EQ(wqe.wr_id, 77U);
  EXPECT_EQ(wqe.op, ib::SendOp::write_with_imm);
  EXPECT_TRUE(wqe.solicited && wqe.fence);
  EXPECT_FALSE(wqe.signaled);
  EXPECT_EQ(wqe.immediate, 0x01020304U);
  EXPECT_EQ(wqe.remote_address, 0x1234U);
  EXPECT_EQ(wqe.rkey, MemoryKey(9));
  wr.send_flags = IBV_SEND_SIGNALED;
  EXPECT_TRUE(fill(wr).signaled);
  wr.send_flags = 0;
  EXPECT_TRUE(fill(wr, {.type = IBV_QPT_RC, .signal_all = true, .qpn = {}}).signaled) << "sq_sig_all";
}

TEST_F(SendWqeTest, ElementsAreNamedAndInlineDataIsCopied) {
  std::array<std::byte, 20> data;
  data.fill(std::byte{5});
  std::array<ibv_sge, 3> list{{{reinterpret_cast<std::uintptr_t>(data.data()), 12, 3},
                               {0, 0, 4},
                               {reinterpret_cast<std::uintptr_t>(data.data()), 20, 5}}};
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.sg_list = list.data();
  wr.num_sge = 3;
  fill(wr);
  EXPECT_EQ(wqe.length, 32U);
  EXPECT_EQ(wqe.sge_count, 3U);
  EXPECT_FALSE(wqe.is_inline);
  EXPECT_EQ(sges[2].length, 20U);
  EXPECT_EQ(sges[2].lkey, MemoryKey(5));
  wr.send_flags = IBV_SEND_INLINE;
  fill(wr);
  EXPECT_TRUE(wqe.is_inline);
  EXPECT_EQ(wqe.length, 32U);
  EXPECT_EQ(inline_data[31], std::byte{5});
  EXPECT_EQ(inline_data[32], std::byte{0});
}

TEST_F(SendWqeTest, AtomicsHaveTheirOperandsWhereTheTransportLooks) {
  ibv_send_wr wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD);
  wr.wr.atomic = {0x1000, 11, 22, 9};
  EXPECT_EQ(fill(wr).swap_or_add, 11U);
  wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  fill(wr);
  EXPECT_EQ(wqe.swap_or_add, 22U);
  EXPECT_EQ(wqe.compare, 11U);
  EXPECT_EQ(wqe.remote_address, 0x1000U);
  EXPECT_EQ(wqe.rkey, MemoryKey(9));
}

TEST_F(SendWqeTest, AKeyToInvalidateGoesWhereItIsUsed) {
  ibv_send_wr wr = request(IBV_WR_SEND_WITH_INV);
  wr.invalidate_rkey = 123;
  EXPECT_EQ(fill(wr).immediate, 123U);
  wr.opcode = IBV_WR_LOCAL_INV;
  EXPECT_EQ(fill(wr).rkey, MemoryKey(123));
}

TEST_F(SendWqeTest, AnXrcRequestNamesItsSrq) {
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.qp_type.xrc.remote_srqn = 0xff123456;
  EXPECT_EQ(fill(wr, {.type = IBV_QPT_XRC_SEND, .qpn = {}}).remote_srqn, 0x123456U) << "24 bits";
  EXPECT_EQ(fill(wr).remote_srqn, 0U);
}

}  // namespace
}  // namespace softrnic::rnic
