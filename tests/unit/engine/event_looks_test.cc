// Events of completion queues that wait: the lane's timetable of them.
#include "engine/event_looks.h"

#include <poll.h>

#include "rnic/completion_channel.h"
#include "tests/unit/engine/queue_pairs_fixture.h"

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

class Looks : public test::QueuePairs {
 protected:
  struct Moderated {
    explicit Moderated(Looks& test, std::uint16_t period) {
      queue = std::move(
          *rnic::CompletionQueue::create(test.context, {.entries = 8, .channel = test.channel.get()}));
      EXPECT_TRUE(queue->moderate(0, period));
    }
    ~Moderated() { EXPECT_TRUE(queue->destroy()); }
    rnic::Pushed push() {
      EXPECT_TRUE(queue->request_notification(false));
      return queue->push(ibv_wc{}, false);
    }
    std::unique_ptr<rnic::CompletionQueue> queue;
  };
  ~Looks() override { EXPECT_TRUE(channel->destroy()); }
  /// The queue of the next event; nullptr: none.
  rnic::CompletionQueue* told() {
    pollfd ready{channel->fd(), POLLIN, 0};
    if (::poll(&ready, 1, 0) != 1) return nullptr;
    rnic::CompletionQueue* const from = *channel->get();
    from->acknowledge(1);
    return from;
  }

  std::unique_ptr<rnic::CompletionChannel> channel = std::move(rnic::CompletionChannel::create().value());
  LaneTimers timers;
  EventLooks looks{timers};
};

TEST_F(Looks, EventsComeInTheOrderOfTheirTimesAndTheTimerIsSetForTheFirst) {
  Moderated slow(*this, 4000);
  Moderated fast(*this, 100);
  EXPECT_EQ(looks.due(), kNever);
  EXPECT_EQ(slow.push(), rnic::Pushed::event_waits);
  looks.enter(*slow.queue);
  EXPECT_EQ(fast.push(), rnic::Pushed::event_waits);
  looks.enter(*fast.queue);
  const TimePoint first = looks.due();
  EXPECT_EQ(timers.armed(), first);
  EXPECT_TRUE(timers.batch_is_due(first));
  looks.look(first - 1ns);
  EXPECT_EQ(told(), nullptr);
  looks.look(first);
  EXPECT_EQ(told(), fast.queue.get());
  EXPECT_EQ(told(), nullptr);
  EXPECT_GT(looks.due(), first);
  looks.look(looks.due());
  EXPECT_EQ(told(), slow.queue.get());
  EXPECT_EQ(looks.due(), kNever);
}

TEST_F(Looks, OneServesTheNextEventToo) {
  Moderated queue(*this, 1000);
  EXPECT_EQ(queue.push(), rnic::Pushed::event_waits);
  looks.enter(*queue.queue);
  const TimePoint first = looks.due();
  EXPECT_TRUE(queue.queue->moderate(0, 1000));
  EXPECT_EQ(told(), queue.queue.get());
  EXPECT_EQ(queue.push(), rnic::Pushed::added);
  looks.look(first);
  EXPECT_EQ(told(), nullptr);
  EXPECT_GT(looks.due(), first);
  looks.look(looks.due());
  EXPECT_EQ(told(), queue.queue.get());
}

TEST_F(Looks, WhatWasForgottenIsNotLookedAt) {
  Moderated kept(*this, 200);
  {
    Moderated gone(*this, 100);
    EXPECT_EQ(gone.push(), rnic::Pushed::event_waits);
    looks.enter(*gone.queue);
    EXPECT_EQ(kept.push(), rnic::Pushed::event_waits);
    looks.enter(*kept.queue);
    looks.forget(*gone.queue);
  }
  looks.look(looks.due());
  EXPECT_EQ(told(), kept.queue.get());
  EXPECT_EQ(looks.due(), kNever);
}

}  // namespace
}  // namespace softrnic::engine
