// Completions of a batch: where they go, when, and in which order.
#include "engine/completion_batch.h"

#include <vector>

#include "tests/unit/engine/queue_pairs_fixture.h"

namespace softrnic::engine {
namespace {

class Batch : public test::QueuePairs {
 protected:
  bool add(std::uint64_t id, bool at_once = false, std::uint32_t qpn = 1) {
    ibv_wc wc{};
    wc.wr_id = id;
    wc.qp_num = qpn;
    return batch.add({cq.get(), wc, false}, at_once);
  }
  std::vector<std::uint64_t> lying() {
    std::vector<std::uint64_t> ids;
    for (ibv_wc wc{}; cq->poll(1, &wc) == 1;) ids.push_back(wc.wr_id);
    return ids;
  }
  using Ids = std::vector<std::uint64_t>;

  LaneTimers timers;
  EventLooks looks{timers};
  CompletionBatch batch{looks};
};

TEST_F(Batch, IsSeenWhenItIsPublishedInItsOrder) {
  EXPECT_TRUE(add(1));
  EXPECT_TRUE(add(2));
  EXPECT_EQ(lying(), Ids{});
  EXPECT_FALSE(batch.publish());
  EXPECT_EQ(lying(), (Ids{1, 2}));
  EXPECT_TRUE(batch.empty());
}

TEST_F(Batch, OneThatOwesNothingGoesAtOnceUnlessOthersAreBeforeIt) {
  EXPECT_TRUE(add(1, true));
  EXPECT_EQ(lying(), Ids{1});
  EXPECT_TRUE(add(2));
  EXPECT_TRUE(add(3, true));
  EXPECT_EQ(lying(), Ids{});
  EXPECT_FALSE(batch.publish());
  EXPECT_EQ(lying(), (Ids{2, 3}));
}

TEST_F(Batch, WhoPollsGetsItAtOnceAsFarAsThereIsRoom) {
  ibv_wc place[1]{};
  rnic::CompletionSink sink{cq.get(), place, place + 1};
  batch.open(sink);
  EXPECT_TRUE(add(1));
  EXPECT_TRUE(add(2));
  EXPECT_EQ(sink.next, place + 1);
  EXPECT_EQ(place[0].wr_id, 1U);
  batch.close();
  EXPECT_FALSE(batch.publish());
  EXPECT_EQ(lying(), Ids{2});
}

TEST_F(Batch, NothingOvertakesWhatLiesInTheQueue) {
  EXPECT_TRUE(add(1, true));
  ibv_wc place[1]{};
  rnic::CompletionSink sink{cq.get(), place, place + 1};
  batch.open(sink);
  EXPECT_TRUE(add(2));
  EXPECT_EQ(sink.next, place);
  batch.close();
  EXPECT_FALSE(batch.publish());
  EXPECT_EQ(lying(), (Ids{1, 2}));
}

TEST_F(Batch, WhatAQueueLosesIsToldOneByOneAndMayBringMore) {
  const int entries = cq->capacity();
  for (int i = 0; i < entries + 2; ++i) EXPECT_TRUE(add(static_cast<std::uint64_t>(i)));
  auto lost = batch.publish();
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->wc.wr_id, static_cast<std::uint64_t>(entries));
  EXPECT_TRUE(add(99));
  ASSERT_TRUE(batch.publish());
  lost = batch.publish();
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->wc.wr_id, 99U);
  EXPECT_FALSE(batch.publish());
}

TEST_F(Batch, WhatWaitsOfAQueuePairThatGoesAwayIsDropped) {
  EXPECT_TRUE(add(1, false, 7));
  EXPECT_TRUE(add(2, false, 8));
  batch.discard(Qpn(7));
  EXPECT_FALSE(batch.publish());
  EXPECT_EQ(lying(), Ids{2});
}

}  // namespace
}  // namespace softrnic::engine
