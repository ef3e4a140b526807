// Tag matching: messages in rendezvous, which the adapter fetches, and what becomes of buffers when a queue
// pair ends.
#include "tests/abi/tag_fixture.h"

namespace softrnic::abi_test {
namespace {

class TagRendezvousTest : public TagTest {
 protected:
  void SetUp() override {
    TagTest::SetUp();
    connect_both();
    for (std::uint64_t id = 0; id < 16; ++id) receive_fin(id);
  }
  void receive_fin(std::uint64_t id) {
    ASSERT_EQ(post_recv(client.get(), 100 + id, sge_of(there.data() + 1024, 64, there_mr.get())), 0);
  }
  /// Takes the completions of a SEND and of a FIN, in whatever order they come.
  void expect_fin(std::uint64_t tag) {
    for (const ibv_wc& wc : collect(cq.get(), 2)) {
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      if (wc.opcode == IBV_WC_RECV) {
        EXPECT_EQ(wc.byte_len, 32U);
      }
    }
    ibv_tmh tmh;
    std::memcpy(&tmh, there.data() + 1024, sizeof tmh);
    EXPECT_EQ(int{tmh.opcode}, int{IBV_TMH_FIN});
    EXPECT_EQ(__builtin_bswap64(tmh.tag), tag);
    EXPECT_EQ(__builtin_bswap32(tmh.app_ctx), 0xabcdU);
    EXPECT_EQ(std::memcmp(there.data() + 1024 + 16, there.data() + 16, 16), 0) << "the RVH comes back";
  }
  static constexpr std::uint32_t kLong = 200'000;
};

TEST_F(TagRendezvousTest, TheAdapterFetchesThePayload) {
  for (const std::uint32_t length : {kLong, 1U, 0U}) {
    add(7, 5, 0, kLong);
    send_rendezvous(5, length);
    const Told match = next();
    expect(match, 7, IBV_WC_TM_RECV, kMatched);
    EXPECT_EQ(match.tag, 5U);
    EXPECT_EQ(match.priv, 0xabcdU);
    const Told data = next();
    expect(data, 7, IBV_WC_TM_RECV, kThere);
    EXPECT_EQ(data.bytes, length);
    EXPECT_EQ(data.tag, 0U);
    EXPECT_TRUE(arrived(0, kPayload, length));
    expect_fin(5);
  }
  expect_none();
}

TEST_F(TagRendezvousTest, IntoSeveralPlaces) {
  ibv_sge sges[4];
  for (std::size_t i = 0; i < 4; ++i)
    sges[i] = sge_of(here.data() + 100'000 * i, 1000 * (i + 1), here_mr.get());
  ibv_ops_wr wr = operation(IBV_WR_TAG_ADD, 0, 0);
  wr.tm.add = {.recv_wr_id = 7, .sg_list = sges, .num_sge = 4, .tag = 5, .mask = kAll};
  ASSERT_EQ(post(wr), 0);
  send_rendezvous(5, 3500);
  expect(next(), 7, IBV_WC_TM_RECV, kMatched);
  expect(next(), 7, IBV_WC_TM_RECV, kThere);
  EXPECT_TRUE(arrived(0, kPayload, 1000) && arrived(100'000, kPayload + 1000, 2000) &&
              arrived(200'000, kPayload + 3000, 500));
  EXPECT_EQ(here[200'500], 0);
}

TEST_F(TagRendezvousTest, MoreThanTheSendQueueHasPlacesFor) {
  constexpr std::uint64_t kMany = 60;
  for (std::uint64_t tag = 0; tag < kMany; ++tag) add(tag, tag, 1000 * tag, 1000);
  std::uint64_t fins = 0, matches = 0, done = 0;
  const auto take = [&](ibv_wc_opcode awaited) {
    for (bool found = false; !found;) {
      const ibv_wc wc = collect(cq.get(), 1)[0];
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
      if (wc.opcode == IBV_WC_RECV) receive_fin(++fins);
      found = wc.opcode == awaited;
    }
  };
  for (std::uint64_t tag = kMany; tag-- > 0;) {
    send_rendezvous(tag, 1000);
    take(IBV_WC_SEND);
  }
  while (done < kMany) {
    const Told one = next();
    ASSERT_EQ(one.status, IBV_WC_SUCCESS);
    ++(one.flags == kMatched ? matches : done);
    EXPECT_LE(done, matches);
  }
  while (fins < kMany) take(IBV_WC_RECV);
  for (std::uint64_t tag = 0; tag < kMany; ++tag) EXPECT_TRUE(arrived(1000 * tag, kPayload, 1000)) << tag;
}

TEST_F(TagRendezvousTest, TheProgramHasItsOwnSendsBesides) {
  add(7, 5, 0, kLong);
  send_rendezvous(5, kLong);
  expect(next(), 7, IBV_WC_TM_RECV, kMatched);
  ASSERT_EQ(post_send(server.get(), 3, sge_of(here.data() + 500'000, 8, here_mr.get())), 0);
  expect(next(), 7, IBV_WC_TM_RECV, kThere);
  std::size_t of_server = 0;
  for (const ibv_wc& wc : collect(cq.get(), 4)) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    if (wc.qp_num == server->qp_num) ++of_server;
  }
  EXPECT_EQ(of_server, 1U) << "of its own requests the program hears, and of no other";
}

TEST_F(TagRendezvousTest, UnmatchedItIsTheProgramsWithAllThatItHas) {
  receive(50, 0, 256);
  send_rendezvous(5, kLong);
  const Told told = next();
  expect(told, 50, IBV_WC_TM_RECV, 0);
  EXPECT_EQ(told.bytes, 32U);
  EXPECT_TRUE(arrived(0, 0, 32));
  expect(synchronize(1), 900, IBV_WC_TM_SYNC, 0);
}

TEST_F(TagRendezvousTest, ABufferThatIsTooSmallGetsTheRequest) {
  add(7, 5, 0, 100);
  send_rendezvous(5, 101);
  const Told told = next();
  expect(told, 7, IBV_WC_TM_RECV, kMatched | kThere, IBV_WC_TM_RNDV_INCOMPLETE);
  EXPECT_EQ(told.tag, 5U);
  EXPECT_EQ(told.priv, 0xabcdU);
  EXPECT_EQ(told.bytes, 32U);
  EXPECT_TRUE(arrived(0, 0, 32));
  EXPECT_EQ(sent(), IBV_WC_SUCCESS) << "and the connection goes on";
  add(8, 5, 0, 31);
  send_rendezvous(5, 101);
  expect(next(), 8, IBV_WC_TM_RECV, 0, IBV_WC_LOC_LEN_ERR);
}

TEST_F(TagRendezvousTest, ALengthBeyondAllMemoryIsTooLong) {
  add(7, 5, 0, kLong);
  send_rendezvous(5, UINT32_MAX);
  expect(next(), 7, IBV_WC_TM_RECV, kMatched | kThere, IBV_WC_TM_RNDV_INCOMPLETE);
}

/// The server is in RTR: it takes messages, and what it has to send waits.
class TagEndTest : public TagTest {
 protected:
  void SetUp() override {
    TagTest::SetUp();
    connect_for_now();
  }
  void connect_for_now() {
    server = make_server();
    client = make_qp(IBV_QPT_RC);
    ASSERT_EQ(to_init(server.get()), 0);
    ASSERT_EQ(to_init(client.get()), 0);
    ASSERT_EQ(to_rtr(server.get(), client->qp_num), 0);
    ASSERT_EQ(to_rtr(client.get(), server->qp_num), 0);
    ASSERT_EQ(to_rts(client.get()), 0);
  }
  void match(std::uint64_t id, std::uint64_t tag, std::uint32_t rkey = 0) {
    add(id, tag, 0, 1000);
    send_rendezvous(tag, 1000, rkey);
    expect(next(), id, IBV_WC_TM_RECV, kMatched);
    ASSERT_EQ(sent(), IBV_WC_SUCCESS);
  }
  /// All 64 places of the list are free again.
  void expect_all_places() {
    for (std::uint64_t id = 0; id < 64; ++id) add(id, 100 + id, 0, 8);
  }
};

TEST_F(TagEndTest, WhatWaitsGoesInRts) {
  match(7, 5);
  expect_none();
  ASSERT_EQ(post_recv(client.get(), 1, sge_of(there.data() + 1024, 64, there_mr.get())), 0);
  ASSERT_EQ(to_rts(server.get()), 0);
  expect(next(), 7, IBV_WC_TM_RECV, kThere);
  EXPECT_EQ(collect(cq.get(), 1)[0].opcode, IBV_WC_RECV);
}

TEST_F(TagEndTest, AKeyThatThePeerHasNotEndsTheConnectionAndAllBuffersInUse) {
  match(7, 5, 0xdead);
  match(8, 6);
  ASSERT_EQ(to_rts(server.get()), 0);
  const Told failed = next();
  expect(failed, 7, IBV_WC_TM_RECV, 0, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(failed.qpn, server->qp_num);
  expect(next(), 8, IBV_WC_TM_RECV, 0, IBV_WC_WR_FLUSH_ERR);
  expect_none();
  expect_all_places();
}

TEST_F(TagEndTest, MemoryThatIsGoneIsNotWritten) {
  match(7, 5);
  here_mr.reset();
  ASSERT_EQ(to_rts(server.get()), 0);
  expect(next(), 7, IBV_WC_TM_RECV, 0, IBV_WC_LOC_PROT_ERR);
}

TEST_F(TagEndTest, WithoutReadsTheProgramFetchesItself) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 14;
  ASSERT_EQ(ibv_modify_qp(server.get(), &attributes,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
            0);
  add(7, 5, 0, 1000);
  send_rendezvous(5, 1000);
  expect(next(), 7, IBV_WC_TM_RECV, kMatched | kThere, IBV_WC_TM_RNDV_INCOMPLETE);
}

TEST_F(TagEndTest, ABufferInUseIsFlushedWithItsQueuePair) {
  match(7, 5);
  ASSERT_EQ(to_state(server.get(), IBV_QPS_ERR), 0);
  expect(next(), 7, IBV_WC_TM_RECV, 0, IBV_WC_WR_FLUSH_ERR);
  expect_none();
  expect_all_places();
}

TEST_F(TagEndTest, AndWhenThatIsResetOrDestroyed) {
  for (const bool reset : {true, false}) {
    if (!reset) connect_for_now();
    match(7, 5);
    if (reset) {
      ASSERT_EQ(to_state(server.get(), IBV_QPS_RESET), 0);
    } else {
      server.reset();
    }
    expect(next(), 7, IBV_WC_TM_RECV, 0, IBV_WC_WR_FLUSH_ERR);
    expect_none();
  }
  expect_all_places();
}

TEST_F(TagEndTest, AReadThatNobodyAnswersEndsWithTheQueuePair) {
  match(7, 5);
  ASSERT_EQ(to_state(client.get(), IBV_QPS_ERR), 0);
  ASSERT_EQ(to_rts(server.get(), 20), 0);
  expect_none();
  server.reset();
  expect(next(), 7, IBV_WC_TM_RECV, 0, IBV_WC_WR_FLUSH_ERR);
  expect_all_places();
}

TEST_F(TagEndTest, CompletionsOfAMatchOutliveTheQueuePair) {
  add(7, 5, 0, 1000);
  receive(50, 2000, 200);
  send_eager(5, 100);
  ASSERT_EQ(sent(), IBV_WC_SUCCESS);
  send_eager(6, 100);
  ASSERT_EQ(sent(), IBV_WC_SUCCESS);
  server.reset();
  expect(next(), 7, IBV_WC_TM_RECV, kMatched | kThere);
  expect(next(), 50, IBV_WC_TM_RECV, 0);
}

}  // namespace
}  // namespace softrnic::abi_test
