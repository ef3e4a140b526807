// Every operation between two endpoints, over streams of every form.
#include "transport/iwarp/endpoint.h"

#include <gtest/gtest.h>

#include "base/reason_id.h"
#include "tests/unit/transport/iwarp/endpoint_pair.h"

namespace softrnic::iwarp::test {
namespace {

using ib::SendOp;
using ib::Status;

constexpr Status kGood = Status::success;

struct Form {
  const char* name;
  bool crc, markers, early, straight, long_fpdus;
};
class EveryForm : public ::testing::TestWithParam<Form> {
 protected:
  EveryForm() : pair(agreement(), GetParam().early) { pair.straight = GetParam().straight; }
  static MpaAgreement agreement() {
    MpaAgreement agreement = agreed(GetParam().crc, GetParam().markers);
    agreement.long_fpdus = GetParam().long_fpdus;
    return agreement;
  }
  Pair pair;
};

TEST_P(EveryForm, SendsOfEveryLength) {
  std::uint64_t id = 0;
  for (std::uint32_t length : {0, 1, 3, 4, 1424, 1425, 100'000}) {
    pair.b.receive(++id, 200'000, 150'000);
    pair.a.post({.op = SendOp::send, .length = length, .from = 10, .sges = 3});
    pair.run();
    ASSERT_EQ(pair.b.host.recvs.size(), id);
    EXPECT_EQ(pair.b.host.recvs.back().status, kGood);
    EXPECT_EQ(pair.b.host.recvs.back().length, length);
    EXPECT_TRUE(std::ranges::equal(pair.a.at(10, length), pair.b.at(200'000, length))) << length;
  }
  EXPECT_TRUE(completed(pair.a, {kGood, kGood, kGood, kGood, kGood, kGood, kGood}));
}

// What comes behind a SEND without a receive waits, too, and nothing of it is lost.
TEST_P(EveryForm, SendsWaitForTheirReceives) {
  constexpr std::uint32_t kLengths[] = {0, 3, 1425, 20'000};
  for (const std::uint32_t length : kLengths) pair.a.post({.op = SendOp::send, .length = length, .from = 10});
  pair.a.post({.op = SendOp::write, .length = 3000, .from = 7, .to = 390'000});
  pair.run();
  std::uint64_t id = 0;
  for (const std::uint32_t length : kLengths) {
    EXPECT_TRUE(pair.b.endpoint.waits()) << length;
    EXPECT_EQ(pair.b.host.recvs.size(), id);
    pair.now += kReceivePatience - std::chrono::nanoseconds(1);
    pair.b.endpoint.expire(pair.now);
    pair.b.receive(++id, 100'000, 30'000);
    pair.b.endpoint.try_again(pair.now);
    pair.run();
    ASSERT_EQ(pair.b.host.recvs.size(), id);
    EXPECT_EQ(pair.b.host.recvs.back().status, kGood);
    EXPECT_TRUE(std::ranges::equal(pair.a.at(10, length), pair.b.at(100'000, length))) << length;
  }
  EXPECT_FALSE(pair.b.endpoint.waits());
  EXPECT_EQ(pair.b.endpoint.deadline(), kNever);
  EXPECT_TRUE(std::ranges::equal(pair.a.at(7, 3000), pair.b.at(390'000, 3000)));
  EXPECT_TRUE(completed(pair.a, {kGood, kGood, kGood, kGood, kGood}));
}

TEST_P(EveryForm, ASendThatNoReceiveComesForEndsTheConnection) {
  pair.a.post({.op = SendOp::send, .length = 3000});
  pair.run();
  pair.now = pair.b.endpoint.deadline() - std::chrono::nanoseconds(1);
  pair.b.endpoint.expire(pair.now);
  EXPECT_EQ(pair.b.endpoint.phase(), Phase::running);
  pair.now = pair.b.endpoint.deadline();
  pair.b.endpoint.expire(pair.now);
  EXPECT_EQ(pair.b.endpoint.phase(), Phase::terminating);
  EXPECT_EQ(pair.b.host.reasons.back().id, ReasonId::iwarp_no_receive);
  pair.run();
  EXPECT_EQ(pair.a.endpoint.ending(), Ending::terminated);
}

TEST_P(EveryForm, TheEndOfTheStreamEndsTheWaitForReceives) {
  pair.a.post({.op = SendOp::send, .length = 3000});
  pair.a.post({.op = SendOp::send, .length = 0});
  pair.run();
  pair.b.receive(1, 100'000, 3000);
  pair.b.endpoint.stream_ended(StreamEnd::closed, pair.now);
  ASSERT_EQ(pair.b.host.recvs.size(), 1U);
  EXPECT_EQ(pair.b.host.recvs.back().status, kGood);
  EXPECT_EQ(pair.b.endpoint.phase(), Phase::terminating);
  EXPECT_EQ(pair.b.host.reasons.back().id, ReasonId::iwarp_no_receive);
}

TEST_P(EveryForm, WhoWaitsForReceivesCanBeFlushed) {
  pair.a.post({.op = SendOp::send, .length = 3000});
  pair.run();
  pair.b.endpoint.flush();
  EXPECT_FALSE(pair.b.endpoint.waits());
  EXPECT_EQ(pair.b.endpoint.ending(), Ending::aborted);
  EXPECT_EQ(pair.b.endpoint.deadline(), kNever);
}

TEST_P(EveryForm, WritesReadsAndAtomicsInBothDirections) {
  pair.a.post({.op = SendOp::write, .length = 70'000, .from = 5, .to = 100'001});
  pair.a.post({.op = SendOp::read, .length = 60'000, .from = 200'000, .to = 3});
  pair.b.post({.op = SendOp::read, .length = 50'000, .from = 300'000, .to = 100});
  pair.b.post({.op = SendOp::write, .length = 0});
  pair.b.post({.op = SendOp::read, .length = 0});
  pair.run();
  EXPECT_TRUE(completed(pair.a, {kGood, kGood}));
  EXPECT_TRUE(completed(pair.b, {kGood, kGood, kGood}));
  EXPECT_TRUE(std::ranges::equal(pair.a.at(5, 70'000), pair.b.at(100'001, 70'000)));
  EXPECT_TRUE(std::ranges::equal(pair.b.at(3, 60'000), pair.a.at(200'000, 60'000)));
  EXPECT_TRUE(std::ranges::equal(pair.a.at(100, 50'000), pair.b.at(300'000, 50'000)));
}

TEST_P(EveryForm, AtomicsAnswerWithTheWordBefore) {
  const auto word = [](Side& side, std::size_t at) {
    std::uint64_t value;
    std::memcpy(&value, &side.memory[at], sizeof value);
    return value;
  };
  const std::uint64_t before = word(pair.b, 800);
  pair.a.post({.op = SendOp::fetch_add, .length = 8, .from = 16, .to = 800, .swap_or_add = 5});
  pair.a.post({.op = SendOp::compare_swap,
               .length = 8,
               .from = 24,
               .to = 800,
               .compare = before + 5,
               .swap_or_add = 77});
  pair.a.post({.op = SendOp::compare_swap,
               .length = 8,
               .from = 32,
               .to = 800,
               .compare = 1,
               .swap_or_add = 2,
               .sges = 2});
  pair.run();
  EXPECT_TRUE(completed(pair.a, {kGood, kGood, kGood}));
  EXPECT_EQ(word(pair.a, 16), before);
  EXPECT_EQ(word(pair.a, 24), before + 5);
  EXPECT_EQ(word(pair.a, 32), 77U);
  EXPECT_EQ(word(pair.b, 800), 77U);
}

TEST_P(EveryForm, ClosesInGoodOrderAfterWhatWasPosted) {
  pair.b.receive(1, 0, 1000);
  pair.a.post({.op = SendOp::read, .length = 100'000, .from = 200'000});
  pair.a.post({.op = SendOp::send, .length = 1000});
  pair.a.endpoint.close(pair.now);
  pair.run();
  EXPECT_TRUE(completed(pair.a, {kGood, kGood}));
  EXPECT_EQ(pair.a.endpoint.ending(), Ending::closed);
  EXPECT_EQ(pair.b.endpoint.ending(), Ending::closed);
  EXPECT_EQ(pair.b.host.recvs.size(), 1U);
  EXPECT_TRUE(pair.a.host.events.empty());
  EXPECT_EQ(pair.a.endpoint.deadline(), kNever);
}

INSTANTIATE_TEST_SUITE_P(Streams, EveryForm,
                         ::testing::Values(Form{"plain", false, false, false, false, false},
                                           Form{"straight", false, false, false, true, false},
                                           Form{"long", false, false, false, true, true},
                                           Form{"crc", true, false, false, false, false},
                                           Form{"crc_straight", true, false, false, true, true},
                                           Form{"crc_early", true, false, true, true, false},
                                           Form{"markers", false, true, false, true, false},
                                           Form{"markers_crc", true, true, false, false, true}),
                         [](const auto& param) { return param.param.name; });

// What one side counts as sent the other counts as received: payload, without headers.
TEST(IwarpEndpoint, SegmentsAreCounted) {
  using enum ib::Counter;
  Pair pair;
  pair.b.receive(1, 0, 5000);
  pair.a.post({.op = SendOp::send, .length = 5000});
  pair.a.post({.op = SendOp::write, .length = 0});
  pair.a.post({.op = SendOp::read, .length = 3000});
  pair.run();
  const ib::Counters &a = pair.a.host.counters, &b = pair.b.host.counters;
  EXPECT_EQ(a[tx_bytes], 5000U);
  EXPECT_EQ(b[rx_bytes], 5000U);
  EXPECT_EQ(b[tx_bytes], 3000U);
  EXPECT_EQ(a[rx_bytes], 3000U);
  EXPECT_GT(a[tx_packets], 3U);
  EXPECT_EQ(a[tx_packets], b[rx_packets]);
  EXPECT_EQ(b[tx_packets], a[rx_packets]);
}

TEST(IwarpEndpoint, BodiesOfEarlierSegmentsAreNotCounted) {
  using enum ib::Counter;
  Pair pair;
  for (std::uint64_t id = 1; id <= 2; ++id) pair.b.receive(id, 0, 100);
  pair.a.post({.op = SendOp::write_with_imm, .length = 0, .immediate = 7});
  pair.a.post({.op = SendOp::send, .length = 0});
  pair.a.post({.op = SendOp::fetch_add, .length = 8});
  pair.a.post({.op = SendOp::read, .length = 100});
  pair.run();
  EXPECT_EQ(pair.b.host.counters[rx_bytes], 0U);
  EXPECT_EQ(pair.a.host.counters[rx_bytes], 100U);
}

TEST(IwarpEndpoint, SendsCarryTheirVariants) {
  Pair pair;
  pair.b.host.regions[0x77] = {0, nullptr, 0, 0, false};
  pair.b.host.regions[0x78] = {0, nullptr, 0, 0, false};
  for (std::uint64_t id = 1; id <= 4; ++id) pair.b.receive(id, 0, 100);
  pair.a.post({.op = SendOp::send, .length = 8, .solicited = true});
  pair.a.post({.op = SendOp::send_with_invalidate, .length = 8, .immediate = 0x77});
  pair.a.post({.op = SendOp::send_with_invalidate, .length = 8, .immediate = 0x78, .solicited = true});
  pair.a.post({.op = SendOp::send, .length = 8});
  pair.run();
  const auto& recvs = pair.b.host.recvs;
  ASSERT_EQ(recvs.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(recvs[i].wr_id, i + 1);
    EXPECT_EQ(recvs[i].solicited, i == 0 || i == 2);
    EXPECT_EQ(recvs[i].has_invalidate, i == 1 || i == 2);
  }
  EXPECT_EQ(recvs[1].immediate, 0x77U);
  EXPECT_EQ(pair.b.host.invalidated, (std::vector<std::uint32_t>{0x77, 0x78}));
}

TEST(IwarpEndpoint, WriteWithImmediateIsAWriteAndImmediateData) {
  Pair pair;
  pair.b.receive(1, 0, 0);
  pair.b.receive(2, 0, 0);
  pair.a.post({.op = SendOp::write_with_imm,
               .length = 9000,
               .from = 1,
               .to = 50'000,
               .immediate = 0xabcdef,
               .solicited = true});
  pair.a.post({.op = SendOp::write_with_imm, .length = 0, .immediate = 7});
  pair.run();
  EXPECT_TRUE(completed(pair.a, {kGood, kGood}));
  ASSERT_EQ(pair.b.host.recvs.size(), 2U);
  const ib::RecvDone& done = pair.b.host.recvs[0];
  EXPECT_TRUE(done.is_write && done.has_immediate && done.solicited);
  EXPECT_EQ(done.immediate, 0xabcdefU);
  EXPECT_EQ(done.length, 9000U);
  EXPECT_EQ(pair.b.host.recvs[1].length, 0U);
  EXPECT_TRUE(std::ranges::equal(pair.a.at(1, 9000), pair.b.at(50'000, 9000)));
}

TEST(IwarpEndpoint, ReadsAreBoundedByOrd) {
  MpaAgreement agreement = agreed();
  agreement.ord = 2;
  Pair pair(agreement);
  for (std::uint32_t i = 0; i < 5; ++i)
    pair.a.post({.op = SendOp::read, .length = 100, .from = 1000 * i, .to = 100'000 + 1000 * i});
  std::array<Bytes, 64> out;
  EXPECT_EQ(pair.a.endpoint.gather(out, {}), 4U);  // two requests, each with its trailer
  pair.run();
  EXPECT_TRUE(completed(pair.a, {kGood, kGood, kGood, kGood, kGood}));
}

TEST(IwarpEndpoint, AFenceWaitsForReads) {
  Pair pair;
  pair.b.receive(1, 0, 100);
  pair.a.post({.op = SendOp::read, .length = 100});
  pair.a.post({.op = SendOp::send, .length = 10, .fence = true});
  std::array<Bytes, 64> out;
  EXPECT_EQ(pair.a.endpoint.gather(out, {}), 2U);
  pair.run();
  EXPECT_TRUE(completed(pair.a, {kGood, kGood}));
}

TEST(IwarpEndpoint, CompletesInOrder) {
  Pair pair;
  pair.b.receive(1, 0, 100);
  pair.a.post({.op = SendOp::read, .length = 100});
  pair.a.post({.op = SendOp::send, .length = 10});
  pair.carry(pair.a, pair.b);
  EXPECT_EQ(pair.b.host.recvs.size(), 1U);
  EXPECT_TRUE(pair.a.host.sends.empty());  // the SEND is done, the READ before it is not
  pair.run();
  EXPECT_TRUE(completed(pair.a, {kGood, kGood}));
}

TEST(IwarpEndpoint, LocalWorkIsDoneInItsTurn) {
  Pair pair;
  pair.a.post({.op = SendOp::read, .length = 100});
  pair.a.post({.op = SendOp::local_invalidate});
  pair.a.post({.op = SendOp::write, .length = 10});
  pair.carry(pair.a, pair.b);
  EXPECT_TRUE(pair.a.host.executed.empty());
  pair.run();
  EXPECT_TRUE(completed(pair.a, {kGood, kGood, kGood}));
  EXPECT_EQ(pair.a.host.executed, std::vector{SendOp::local_invalidate});
}

TEST(IwarpEndpoint, AReadMayInvalidateItsSink) {
  Pair pair;
  pair.a.post({.op = SendOp::read, .length = 100, .immediate = kKey.value});
  pair.run();
  EXPECT_TRUE(completed(pair.a, {kGood}));
  EXPECT_EQ(pair.a.host.executed, std::vector{SendOp::local_invalidate});
}

TEST(IwarpEndpoint, TellsThatItIsReady) {
  for (std::uint8_t rtr : {wire::kRtrSend, wire::kRtrWrite, wire::kRtrRead}) {
    MpaAgreement agreement = agreed();
    agreement.rtr = rtr;
    agreement.sends_rtr = true;
    Pair pair(agreement);
    pair.a.receive(1, 0, 100);
    pair.b.receive(2, 0, 100);
    pair.b.post({.op = SendOp::send, .length = 10});
    EXPECT_EQ(pair.carry(pair.b, pair.a), 0U);  // before it has heard of the initiator
    pair.run();
    EXPECT_EQ(pair.a.host.recvs.size(), 1U);
    EXPECT_TRUE(pair.b.host.recvs.empty());
    pair.a.post({.op = SendOp::send, .length = 10});
    pair.a.post({.op = SendOp::read, .length = 10});
    pair.run();
    EXPECT_TRUE(completed(pair.a, {kGood, kGood})) << int{rtr};
    EXPECT_EQ(pair.b.host.recvs.size(), 1U);
  }
}

TEST(IwarpEndpoint, MemoryWithOnDemandPagingIsLoadedAndStored) {
  Pair pair;
  for (Side* side : {&pair.a, &pair.b}) side->host.regions[kKey.value].on_demand = true;
  pair.b.receive(1, 0, 9000);
  pair.a.post({.op = SendOp::send, .length = 9000, .from = 1});
  pair.a.post({.op = SendOp::write, .length = 9000, .from = 2, .to = 50'000});
  pair.a.post({.op = SendOp::read, .length = 9000, .from = 100'000, .to = 70'000});
  pair.a.post({.op = SendOp::fetch_add, .length = 8, .from = 300'000, .to = 16, .swap_or_add = 1});
  pair.run();
  EXPECT_TRUE(completed(pair.a, {kGood, kGood, kGood, kGood}));
  EXPECT_TRUE(std::ranges::equal(pair.a.at(2, 9000), pair.b.at(50'000, 9000)));
  EXPECT_TRUE(std::ranges::equal(pair.b.at(70'000, 9000), pair.a.at(100'000, 9000)));
}

TEST(IwarpEndpoint, SegmentsFitTheStreamsMss) {
  Pair pair;
  pair.a.post({.op = SendOp::write, .length = 10'000});
  std::array<Bytes, 64> out;
  const std::size_t count = pair.a.endpoint.gather(out, {});
  std::vector<std::byte> stream;
  for (const Bytes piece : std::span(out).first(count))
    stream.insert(stream.end(), piece.begin(), piece.end());
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t size = wire::fpdu_bytes(load_be16(&stream[at]));
    at += size;
    EXPECT_EQ(size, at < stream.size() ? 1448U : size);
  }
}

}  // namespace
}  // namespace softrnic::iwarp::test
