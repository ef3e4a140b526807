// Tag matching: SRQs of IBV_SRQT_TM, ibv_post_srq_ops, and what messages of one packet come to.
#include "tests/abi/tag_fixture.h"

namespace softrnic::abi_test {
namespace {

using TagMatchingTest = TagTest;

TEST_F(TagMatchingTest, TheDeviceSaysSo) {
  ibv_device_attr_ex attributes;
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &attributes), 0);
  const ibv_tm_caps& caps = attributes.tm_caps;
  EXPECT_EQ(caps.flags, unsigned{IBV_TM_CAP_RC});
  EXPECT_GE(caps.max_rndv_hdr_size, sizeof(ibv_tmh) + sizeof(ibv_rvh));
  EXPECT_NE(make_tag_srq({caps.max_num_tags, caps.max_ops}), nullptr) << std::strerror(errno);
  EXPECT_EQ(make_tag_srq({caps.max_num_tags + 1, 1}), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(make_tag_srq({1, caps.max_ops + 1}), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(TagMatchingTest, IncompleteQueuesAreRefused) {
  const std::uint32_t needed[] = {IBV_SRQ_INIT_ATTR_PD, IBV_SRQ_INIT_ATTR_CQ, IBV_SRQ_INIT_ATTR_TM};
  for (const std::uint32_t bit : needed) {
    EXPECT_EQ(make_tag_srq({1, 1}, bit), nullptr);
    EXPECT_EQ(errno, EINVAL) << bit;
  }
  EXPECT_EQ(make_tag_srq({0, 1}), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(make_tag_srq({1, 0}), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(make_tag_srq({1, 1}, 0, cq.get()), nullptr) << "it is not extended";
  EXPECT_EQ(errno, EINVAL);
  for (const ibv_qp_type type : {IBV_QPT_UD, IBV_QPT_UC}) {
    EXPECT_EQ(make_server(type), nullptr) << "tags are for RC";
    EXPECT_EQ(errno, EINVAL);
  }
  std::uint32_t number = 0;
  EXPECT_EQ(ibv_get_srq_num(srq.get(), &number), EINVAL);
  EXPECT_EQ(ibv_destroy_cq(tells_owner.get()), EBUSY);
}

TEST_F(TagMatchingTest, OperationsAreCheckedAndCompleted) {
  ibv_srq_init_attr plain{};
  plain.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
  const SrqPtr basic(ibv_create_srq(pd.get(), &plain));
  ibv_ops_wr sync = operation(IBV_WR_TAG_SYNC, 1), *bad = nullptr;
  EXPECT_EQ(ibv_post_srq_ops(basic.get(), &sync, &bad), EINVAL);
  EXPECT_EQ(bad, &sync);
  ASSERT_EQ(post(sync), 0);
  expect(next(), 1, IBV_WC_TM_SYNC, 0);

  ibv_ops_wr first = operation(IBV_WR_TAG_ADD, 2),
             second = operation(static_cast<ibv_ops_wr_opcode>(IBV_WR_TAG_SYNC + 1), 3);
  first.next = &second;
  EXPECT_EQ(ibv_post_srq_ops(srq.get(), &first, &bad), EINVAL);
  EXPECT_EQ(bad, &second);
  expect(next(), 2, IBV_WC_TM_ADD, 0);

  ibv_ops_wr remove = operation(IBV_WR_TAG_DEL, 4);
  remove.tm.handle = first.tm.handle;
  ASSERT_EQ(post(remove), 0);
  expect(next(), 4, IBV_WC_TM_DEL, 0);
  ASSERT_EQ(post(remove), 0);
  expect(next(), 4, IBV_WC_TM_DEL, 0, IBV_WC_TM_ERR);
  remove.flags = 0;
  ASSERT_EQ(post(remove), 0);
  remove.tm.handle = 0xffff;
  EXPECT_EQ(post(remove), EINVAL);
  first = operation(IBV_WR_TAG_ADD, 5);
  first.tm.add.num_sge = 5;
  EXPECT_EQ(post(first), EINVAL);
  first.tm.add.num_sge = 0;
  first.flags = 1 << 9;
  EXPECT_EQ(post(first), EINVAL);
  expect_none();
}

TEST_F(TagMatchingTest, ListsAreAsLongAsWasAgreed) {
  std::vector<ibv_ops_wr> list(17, operation(IBV_WR_TAG_SYNC, 1, 0));
  for (std::size_t i = 0; i + 1 < list.size(); ++i) list[i].next = &list[i + 1];
  ibv_ops_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_ops(srq.get(), list.data(), &bad), ENOMEM);
  EXPECT_EQ(bad, &list.back());
  for (std::uint64_t id = 0; id < 64; ++id) add(id, id, 0, 8);
  ibv_ops_wr more = operation(IBV_WR_TAG_ADD, 2);
  EXPECT_EQ(post(more), ENOMEM);
  EXPECT_EQ(ibv_destroy_srq(srq.release()), 0) << "with all its buffers";
}

TEST_F(TagMatchingTest, AnEagerMessageGoesIntoItsBuffer) {
  connect_both();
  receive(50, 8192, 2048);
  add(7, 0x1234, 0, 2048, 0xffff);
  send_eager(0xff001234, 500);
  const Told match = next();
  expect(match, 7, IBV_WC_TM_RECV, kMatched | kThere);
  EXPECT_EQ(match.bytes, 500U) << "without the TMH";
  EXPECT_EQ(match.tag, 0xff001234U);
  EXPECT_EQ(match.priv, 0xabcdU);
  EXPECT_EQ(match.qpn, server->qp_num);
  EXPECT_TRUE(arrived(0, 16, 500));
  EXPECT_EQ(here[500], 0);
  EXPECT_EQ(here[8192], 0) << "the receive is for what does not match";
  EXPECT_EQ(sent(), IBV_WC_SUCCESS);
  send_eager(0x1234, 0);
  expect(next(), 50, IBV_WC_TM_RECV, 0);
}

TEST_F(TagMatchingTest, AMatchNeedsNoReceiveAndAnUnexpectedMessageWaitsForOne) {
  connect_both();
  add(7, 1, 0, 64);
  send_eager(1, 64);
  expect(next(), 7, IBV_WC_TM_RECV, kMatched | kThere);
  EXPECT_EQ(sent(), IBV_WC_SUCCESS);
  send_eager(2, 64);
  EXPECT_FALSE(ibv_poll_cq(cq.get(), 1, std::array<ibv_wc, 1>{}.data()) != 0);
  receive(50, 0, 256);
  expect(next(), 50, IBV_WC_TM_RECV, 0);
  EXPECT_EQ(sent(), IBV_WC_SUCCESS) << "after RNR NAKs";
}

TEST_F(TagMatchingTest, UnexpectedMessagesAreCounted) {
  connect_both();
  receive(50, 0, 256);
  add(7, 8, 4096, 64);
  send_eager(5, 64);
  const Told unexpected = next();
  expect(unexpected, 50, IBV_WC_TM_RECV, 0);
  EXPECT_EQ(unexpected.bytes, 80U);
  EXPECT_EQ(unexpected.tag, 0U) << "it stands in the message";
  EXPECT_TRUE(arrived(0, 0, 80));
  ibv_sge sge = sge_of(here.data() + 8192, 64, here_mr.get());
  ibv_ops_wr wr = operation(IBV_WR_TAG_ADD, 60);
  wr.tm.add = {.recv_wr_id = 6, .sg_list = &sge, .num_sge = 1, .tag = 5, .mask = kAll};
  ASSERT_EQ(post(wr), 0);
  expect(next(), 60, IBV_WC_TM_ADD, IBV_WC_TM_SYNC_REQ);
  receive(51, 0, 256);
  send_eager(5, 64);
  expect(next(), 51, IBV_WC_TM_RECV, 0);
  send_eager(8, 64);
  expect(next(), 7, IBV_WC_TM_RECV, kMatched | kThere);
  expect(synchronize(1), 900, IBV_WC_TM_SYNC, IBV_WC_TM_SYNC_REQ);
  expect(synchronize(2), 900, IBV_WC_TM_SYNC, 0);
  send_eager(5, 64);
  expect(next(), 6, IBV_WC_TM_RECV, kMatched | kThere);
}

TEST_F(TagMatchingTest, WhatHasNoTagIsTheProgramsAndIsNotCounted) {
  connect_both();
  struct Case {
    std::uint8_t opcode;
    std::uint32_t length;
  };
  constexpr Case kCases[] = {{IBV_TMH_NO_TAG, 100}, {IBV_TMH_NO_TAG, 1}, {IBV_TMH_FIN, 32}, {77, 100},
                             {IBV_TMH_EAGER, 15},   {IBV_TMH_RNDV, 3},   {IBV_TMH_EAGER, 0}};
  add(7, 5, 4096, 64);
  for (const Case& one : kCases) {
    receive(50, 0, 256);
    write_tmh(one.opcode, 5);
    send(one.length);
    const Told told = next();
    expect(told, 50, IBV_WC_TM_NO_TAG, 0);
    EXPECT_EQ(told.bytes, one.length);
    EXPECT_EQ(told.tag, 0U);
    EXPECT_TRUE(arrived(0, 0, one.length));
  }
  expect(synchronize(0), 900, IBV_WC_TM_SYNC, 0);
}

TEST_F(TagMatchingTest, AWriteWithImmediateDataTakesAReceive) {
  connect_both();
  receive(50, 0, 64);
  ibv_send_wr wr{}, *bad = nullptr;
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.imm_data = 0x01020304;
  wr.send_flags = IBV_SEND_SIGNALED;
  ASSERT_EQ(ibv_post_send(client.get(), &wr, &bad), 0);
  expect(next(), 50, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM);
}

TEST_F(TagMatchingTest, ABufferThatIsTooShortEndsTheConnection) {
  connect_both();
  add(7, 5, 0, 99);
  send_eager(5, 100);
  expect(next(), 7, IBV_WC_TM_RECV, 0, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(sent(), IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(TagMatchingTest, SoDoesAKeyThatAllowsNothing) {
  connect_both();
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(here.data()), 100, 0xdead};
  ibv_ops_wr wr = operation(IBV_WR_TAG_ADD, 0, 0);
  wr.tm.add = {.recv_wr_id = 7, .sg_list = &sge, .num_sge = 1, .tag = 5, .mask = kAll};
  ASSERT_EQ(post(wr), 0);
  send_eager(5, 100);
  expect(next(), 7, IBV_WC_TM_RECV, 0, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(sent(), IBV_WC_REM_OP_ERR);
}

TEST_F(TagMatchingTest, ALongMessageFillsItsBuffer) {
  connect_both();
  constexpr std::uint32_t kLong = 300'000;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    ibv_sge sges[] = {sge_of(here.data(), 1000, here_mr.get()),
                      sge_of(here.data() + 2000, kLong, here_mr.get())};
    ibv_ops_wr wr = operation(IBV_WR_TAG_ADD, 0, 0);
    wr.tm.add = {.recv_wr_id = id, .sg_list = sges, .num_sge = 2, .tag = 5, .mask = kAll};
    ASSERT_EQ(post(wr), 0);
    send_eager(5, kLong);
    Told told = next();
    EXPECT_EQ(told.tag, 5U);
    if (told.flags == kMatched) {  // the match was told at its first packet
      EXPECT_EQ(told.wr_id, id);
      told = next();
      EXPECT_EQ(told.tag, 0U);
      told.flags |= kMatched;
    }
    expect(told, id, IBV_WC_TM_RECV, kMatched | kThere);
    EXPECT_EQ(told.bytes, kLong);
    EXPECT_TRUE(arrived(0, 16, 1000) && arrived(2000, 1016, kLong - 1000));
  }
  expect_none();
}

TEST_F(TagMatchingTest, AnOperationBringsAnEvent) {
  const ChannelPtr channel(ibv_create_comp_channel(context.get()));
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = 16;
  wanted.channel = channel.get();
  wanted.wc_flags = IBV_WC_STANDARD_FLAGS;
  const CqPtr armed(ibv_cq_ex_to_cq(ibv_create_cq_ex(context.get(), &wanted)));
  ASSERT_NE(armed, nullptr);
  ibv_modify_cq_attr moderate{IBV_CQ_ATTR_MODERATE, {100, 4000}};
  ASSERT_EQ(ibv_modify_cq(armed.get(), &moderate), 0);
  const SrqPtr on_channel = make_tag_srq({1, 1}, 0, armed.get());
  ASSERT_NE(on_channel, nullptr);
  ASSERT_EQ(ibv_req_notify_cq(armed.get(), 0), 0);
  ibv_ops_wr sync = operation(IBV_WR_TAG_SYNC, 1), *bad = nullptr;
  ASSERT_EQ(ibv_post_srq_ops(on_channel.get(), &sync, &bad), 0);
  ASSERT_TRUE(readable(channel->fd, 0));
  ibv_cq* which = nullptr;
  void* own = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel.get(), &which, &own), 0);
  ibv_ack_cq_events(which, 1);
}

}  // namespace
}  // namespace softrnic::abi_test
