#include "engine/peer_credit.h"

#include <gtest/gtest.h>

#include "engine/credit_letters.h"
#include "engine/qp_table.h"
#include "wire/opcode.h"

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kBuffer = 8 << 20;

struct Credit : testing::Test {
  std::uint32_t questions = 0;
  PeerCredit credit{questions};
  TimePoint now{5s};

  std::uint64_t granted() {
    std::uint64_t sum = 0;
    while (const std::uint32_t part = credit.room(now)) sum += part;
    return sum;
  }
  std::uint64_t question() {
    std::uint64_t place = 0;
    EXPECT_TRUE(credit.take_question(place));
    return place;
  }
};

TEST_F(Credit, NoMoreIsUnderWayThanTheFirstWindowUntilThePeerAnswers) {
  EXPECT_EQ(granted(), PeerCredit::kFirstWindow);
  EXPECT_EQ(questions, 1U);
  const std::uint64_t place = question();
  EXPECT_LT(place, PeerCredit::kFirstWindow);
  EXPECT_EQ(questions, 0U);
  credit.answered(place, kBuffer);
  const std::uint64_t under_way = PeerCredit::kFirstWindow - place + granted();
  EXPECT_LE(under_way, kBuffer / 2);
  EXPECT_GT(under_way, kBuffer / 2 - kBuffer / 2 / PeerCredit::kParts);
}

TEST_F(Credit, AnAnswerGivesBackWhatWasSentBeforeItsQuestion) {
  granted();
  now += PeerCredit::kAskAgain;
  EXPECT_EQ(credit.room(now), 0U);
  const std::uint64_t place = question();
  EXPECT_EQ(place, PeerCredit::kFirstWindow);
  credit.answered(place, 2 * PeerCredit::kFirstWindow);
  EXPECT_EQ(granted(), PeerCredit::kFirstWindow);
}

TEST_F(Credit, ALostQuestionIsAskedAgain) {
  granted();
  question();
  EXPECT_EQ(credit.room(now), 0U);
  EXPECT_EQ(questions, 0U);
  now += PeerCredit::kAskAgain;
  EXPECT_EQ(credit.room(now), 0U);
  EXPECT_EQ(questions, 1U);
}

TEST_F(Credit, AnswersToWhatWasNeverAskedAndOldOnesChangeNothing) {
  const std::uint64_t all = granted();
  credit.answered(all + 1, kBuffer);
  EXPECT_EQ(granted(), 0U);
  credit.answered(all, PeerCredit::kFirstWindow * 2);
  const std::uint64_t more = granted();
  EXPECT_EQ(more, PeerCredit::kFirstWindow);
  credit.answered(all, PeerCredit::kFirstWindow * 2);
  EXPECT_EQ(granted(), 0U);
}

TEST_F(Credit, APeerThatNeverAnswersIsNotKnownAfterAWhileButAskedNowAndThen) {
  EXPECT_TRUE(credit.knows(now));
  granted();
  question();
  now += PeerCredit::kMeeting - 1ns;
  EXPECT_TRUE(credit.knows(now));
  now += 1ns;
  EXPECT_FALSE(credit.knows(now));
  const std::uint64_t place = question();
  EXPECT_FALSE(credit.knows(now));
  EXPECT_EQ(questions, 0U);
  credit.answered(place, kBuffer);
  EXPECT_TRUE(credit.knows(now));
}

/// Two lanes whose letters reach each other.
struct Letters : testing::Test {
  static constexpr std::uint8_t kA = 3, kB = 4;
  const wire::Gid gid_a = wire::Gid::from_ipv4_be(0x0100000a), gid_b = wire::Gid::from_ipv4_be(0x0200000a);
  CreditLetters a{kA, kBuffer}, b{kB, kBuffer};
  PathTable paths_a, paths_b;
  const TimePoint now{5s};

  static ib::RxPacket arrived(const ib::TxPacket& sent) {
    ib::RxPacket rx;
    rx.packet.headers = sent.headers;
    rx.packet.info = &wire::opcode_info(sent.headers.bth.opcode);
    rx.packet.payload = Bytes(sent.fragments[0].data, sent.fragments[0].size);
    rx.source = sent.path->source;
    rx.destination = sent.path->destination;
    return rx;
  }
  /// Hands what `from` has to send to `to`; how many letters there were.
  static int deliver(CreditLetters& from, CreditLetters& to, PathTable& paths, std::uint8_t lane) {
    int letters = 0;
    from.send([&](const ib::TxPacket& packet) {
      ++letters;
      EXPECT_EQ(packet.headers.bth.destination, Qpn::of(lane, QpTable::kLaneItself));
      EXPECT_TRUE(to.receive(arrived(packet), paths));
    });
    return letters;
  }
};

TEST_F(Letters, AWindowOpensWhenThePeersLaneHasTakenWhatWasSent) {
  Path& path = paths_a.path(gid_b, kB);
  ib::AddressVector way;
  way.source = gid_a;
  way.destination = gid_b;
  a.observe(path, way, kB);
  const auto fill = [&] {
    std::uint32_t packets = 0;
    while (path.admit(1088, now) == now) ++packets;
    return packets;
  };
  const std::uint32_t first = fill();
  EXPECT_GE(first, PeerCredit::kFirstWindow / ib::datagram_cost(1088) - PeerCredit::kParts);
  EXPECT_EQ(deliver(a, b, paths_b, kB), 1);
  EXPECT_EQ(fill(), 0U);
  EXPECT_EQ(deliver(b, a, paths_a, kA), 1);
  EXPECT_GT(fill(), first);
  EXPECT_EQ(deliver(b, a, paths_a, kA), 0);
}

TEST_F(Letters, OtherDatagramsAreNone) {
  ib::TxPacket packet;
  ib::AddressVector way;
  way.source = gid_a;
  way.destination = gid_b;
  packet.path = &way;
  packet.headers.bth.opcode = wire::Opcode::ud_send_only;
  EXPECT_FALSE(b.receive(arrived(packet), paths_b));
  EXPECT_EQ(deliver(b, a, paths_a, kA), 0);
}

}  // namespace
}  // namespace softrnic::engine
