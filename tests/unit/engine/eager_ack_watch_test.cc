// ACKs that come as words in memory: who is looked at, what is taken, and what is not.
#include "engine/eager_ack_watch.h"

#include <vector>

#include "tests/unit/engine/queue_pairs_fixture.h"

namespace softrnic::engine {
namespace {

class Watch : public test::QueuePairs {
 protected:
  Watch() {
    lanes.lane.lose_packets = true;
    for (Placed* each : {&a, &b}) {
      connect(*each->qp);
      watch.begin_connection(each->slot);
    }
  }
  /// The peer has executed the first `count` messages of that connection.
  void acknowledge(const QpSlot& slot, std::uint32_t token, std::uint32_t count) {
    words[slot.qp->qpn().index()].word =
        samehost::EagerAck::word_of(token, kFirstPsn + count, wire::kAckUnlimitedCredits);
  }
  std::size_t take() {
    return watch.take([this](rnic::QueuePair& qp) { touched.push_back(&qp); });
  }

  std::vector<samehost::EagerAck> words = std::vector<samehost::EagerAck>(65536);
  EagerAckWatch watch{words.data()};
  std::vector<rnic::QueuePair*> touched;
  Placed a{make_qp()}, b{make_qp()};
};

TEST_F(Watch, AQuickLookSeesTheOneThatStandsForAll) {
  EXPECT_FALSE(watch.have_come());
  send(*a.qp);
  watch.await(a.slot);
  EXPECT_FALSE(watch.have_come());
  acknowledge(a.slot, a.slot.token, 1);
  EXPECT_TRUE(watch.have_come());
  EXPECT_TRUE(watch.have_come_for(cq.get()));
  EXPECT_FALSE(watch.have_come_for(nullptr));
  EXPECT_EQ(take(), 1U);
  EXPECT_FALSE(watch.have_come());
}

TEST_F(Watch, WhatIsAcknowledgedCompletesAndIsWatchedNoMore) {
  send(*a.qp);
  send(*a.qp);
  watch.await(a.slot);
  acknowledge(a.slot, a.slot.token, 1);
  EXPECT_EQ(take(), 1U);
  EXPECT_TRUE(a.slot.awaits_acks) << "one of two";
  acknowledge(a.slot, a.slot.token, 2);
  EXPECT_EQ(take(), 1U);
  EXPECT_FALSE(a.slot.awaits_acks);
  EXPECT_EQ(take(), 0U);
  EXPECT_EQ(lanes.lane.undelivered(), 2U);
}

TEST_F(Watch, TheOthersAreFoundBeforeASleep) {
  for (Placed* each : {&a, &b}) {
    send(*each->qp);
    watch.await(each->slot);
  }
  EXPECT_FALSE(watch.any_has_come());
  acknowledge(b.slot, b.slot.token, 1);
  EXPECT_TRUE(watch.any_has_come());
  EXPECT_EQ(take(), 1U);
  EXPECT_TRUE(a.slot.awaits_acks);
  EXPECT_FALSE(b.slot.awaits_acks);
}

TEST_F(Watch, WordsAboutAnotherConnectionAcknowledgeNothing) {
  send(*a.qp);
  watch.await(a.slot);
  acknowledge(a.slot, a.slot.token + 7, 1);
  EXPECT_EQ(take(), 1U) << "looked at";
  EXPECT_EQ(lanes.lane.undelivered(), 0U);
  EXPECT_TRUE(a.slot.awaits_acks);
}

TEST_F(Watch, ANewConnectionHasAnotherTokenAndAwaitsNothing) {
  send(*a.qp);
  watch.await(a.slot);
  const std::uint32_t before = a.slot.token;
  watch.begin_connection(a.slot);
  EXPECT_NE(a.slot.token, before);
  EXPECT_NE(a.slot.token, b.slot.token);
  EXPECT_FALSE(a.slot.awaits_acks);
  acknowledge(a.slot, before, 1);
  EXPECT_FALSE(watch.have_come());
  EXPECT_EQ(take(), 0U);
}

TEST_F(Watch, InAForkedChildNobodyAwaits) {
  send(*a.qp);
  watch.await(a.slot);
  watch.abandon();
  acknowledge(a.slot, a.slot.token, 1);
  EXPECT_FALSE(watch.have_come());
  EXPECT_FALSE(watch.any_has_come());
}

}  // namespace
}  // namespace softrnic::engine
