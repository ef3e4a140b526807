// Completion moderation: when the event of an armed queue comes.
#include "rnic/event_moderation.h"

#include <cerrno>

#include "base/clock.h"
#include "base/reason_id.h"
#include "rnic/completion_queue.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

using namespace std::chrono_literals;

class EventModerationTest : public RnicTest {
 protected:
  void SetUp() override {
    RnicTest::SetUp();
    channel = std::move(*CompletionChannel::create());
    queue = make_cq(64, channel.get());
  }
  void TearDown() override {
    EXPECT_TRUE(queue->destroy());
    EXPECT_TRUE(channel->destroy());
    RnicTest::TearDown();
  }
  Pushed push(bool solicited = false, ibv_wc_status status = IBV_WC_SUCCESS) {
    ibv_wc wc{};
    wc.status = status;
    return queue->push(wc, solicited);
  }
  void arm(bool solicited_only = false) { EXPECT_TRUE(queue->request_notification(solicited_only)); }
  void moderate(std::uint16_t count, std::uint16_t period) { EXPECT_TRUE(queue->moderate(count, period)); }
  /// Whether the channel has an event, which is taken and acknowledged.
  bool told() {
    if (!fd_ready(channel->fd())) return false;
    EXPECT_TRUE(channel->get());
    queue->acknowledge(1);
    return true;
  }

  std::unique_ptr<CompletionChannel> channel;
  std::unique_ptr<CompletionQueue> queue;
};

TEST_F(EventModerationTest, OffEveryEventComesAtOnce) {
  for (const std::uint16_t count : {std::uint16_t{0}, std::uint16_t{1}}) {
    moderate(count, 0);
    arm();
    EXPECT_EQ(push(), Pushed::added);
    EXPECT_TRUE(told());
  }
  moderate(1, 100);
  arm();
  EXPECT_EQ(push(), Pushed::added);
  EXPECT_TRUE(told()) << "one completion an event";
}

TEST_F(EventModerationTest, ByCountAlone) {
  moderate(3, 0);
  arm();
  for (int round = 0; round < 2; ++round, arm()) {
    EXPECT_EQ(push(), Pushed::added) << "nobody has to look at it";
    EXPECT_EQ(push(), Pushed::added);
    EXPECT_FALSE(told());
    EXPECT_EQ(push(), Pushed::added);
    EXPECT_TRUE(told());
    EXPECT_EQ(push(), Pushed::added) << "it is not armed, and this is not counted";
  }
}

TEST_F(EventModerationTest, ByTimeSinceTheFirst) {
  moderate(0, 50);
  arm();
  const TimePoint before = monotonic_now();
  EXPECT_EQ(push(), Pushed::event_waits);
  const TimePoint look = queue->next_look();
  EXPECT_GE(look, before + 50us);
  EXPECT_LE(look, monotonic_now() + 50us);
  EXPECT_EQ(queue->next_look(), kNever) << "one lane looks at it";
  EXPECT_EQ(push(), Pushed::added);
  EXPECT_EQ(queue->tell_when_due(look, look - 1ns), look);
  EXPECT_FALSE(told());
  EXPECT_EQ(queue->tell_when_due(look, look), kNever);
  EXPECT_TRUE(told());
  arm();
  EXPECT_EQ(push(), Pushed::event_waits);
}

TEST_F(EventModerationTest, TheCountMayComeBeforeTheTimeAndTheLookServesTheNextEvent) {
  moderate(2, 1000);
  arm();
  EXPECT_EQ(push(), Pushed::event_waits);
  const TimePoint first = queue->next_look();
  EXPECT_EQ(push(), Pushed::added);
  EXPECT_TRUE(told());
  arm();
  EXPECT_EQ(push(), Pushed::added) << "the first look comes before the event is due";
  const TimePoint second = queue->tell_when_due(first, first);
  EXPECT_GT(second, first);
  EXPECT_FALSE(told());
  EXPECT_EQ(queue->tell_when_due(second, second), kNever);
  EXPECT_TRUE(told());
}

TEST_F(EventModerationTest, AShorterPeriodBringsALookOfItsOwn) {
  moderate(0, 4000);
  arm();
  EXPECT_EQ(push(), Pushed::event_waits);
  const TimePoint late = queue->next_look();
  moderate(0, 10);
  EXPECT_TRUE(told()) << "an event that waits comes at once";
  arm();
  EXPECT_EQ(push(), Pushed::event_waits);
  const TimePoint early = queue->next_look();
  EXPECT_LT(early, late);
  EXPECT_EQ(queue->tell_when_due(early, early), kNever);
  EXPECT_TRUE(told());
  EXPECT_EQ(queue->tell_when_due(late, late), kNever);
  EXPECT_FALSE(told());
}

TEST_F(EventModerationTest, ThoseThatBringNoEventAreNotCounted) {
  moderate(2, 0);
  arm(true);
  for (int i = 0; i < 3; ++i) push(false);
  push(true);
  EXPECT_FALSE(told());
  push(false, IBV_WC_WR_FLUSH_ERR);
  EXPECT_TRUE(told());
  push(true);
  push(true);
  EXPECT_FALSE(told()) << "not armed";
}

TEST_F(EventModerationTest, LongPeriodsAreRefused) {
  EXPECT_TRUE(queue->moderate(limits::kMaxModerationCount, limits::kMaxModerationPeriod));
  EXPECT_EQ(error_of(queue->moderate(1, limits::kMaxModerationPeriod + 1)), EINVAL);
  EXPECT_EQ(only_reason(), ReasonId::bad_cq_period);
}

TEST_F(EventModerationTest, LanesForgetAQueueThatGoes) {
  auto qp = make_qp(IBV_QPT_RC);
  auto plain = make_cq(4, channel.get());
  plain->add_lane(lanes.lane);
  EXPECT_TRUE(plain->destroy());
  EXPECT_TRUE(lanes.lane.forgotten.empty()) << "its events never waited";
  auto moderated = make_cq(4, channel.get());
  moderated->add_lane(lanes.lane);
  EXPECT_TRUE(moderated->moderate(2, 100));
  EXPECT_TRUE(moderated->destroy());
  EXPECT_EQ(lanes.lane.forgotten, std::vector<CompletionQueue*>{moderated.get()});
  EXPECT_TRUE(qp->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
