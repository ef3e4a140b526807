// Which asynchronous events a queue pair raises, and which of them once.
#include "rnic/qp_events.h"

#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

using enum ib::QpEvent;

class QpEventsTest : public RnicTest {
 protected:
  class Target final : public EventTarget {
   public:
    Target() : EventTarget(Kind::queue_pair) {}
    ~Target() override = default;
  };

  Target target;
  QpEvents events{context.events(), target, true};
};

TEST_F(QpEventsTest, AreThoseOfVerbs) {
  constexpr std::pair<ib::QpEvent, ibv_event_type> kPairs[] = {
      {communication_established, IBV_EVENT_COMM_EST},
      {fatal, IBV_EVENT_QP_FATAL},
      {request_error, IBV_EVENT_QP_REQ_ERR},
      {access_error, IBV_EVENT_QP_ACCESS_ERR},
      {path_migrated, IBV_EVENT_PATH_MIG},
      {path_migration_error, IBV_EVENT_PATH_MIG_ERR},
      {last_wqe_reached, IBV_EVENT_QP_LAST_WQE_REACHED}};
  for (const auto& [event, type] : kPairs) {
    events.raise(event);
    const AsyncEvent raised = next_event();
    EXPECT_EQ(raised.type, type);
    EXPECT_EQ(raised.target, &target);
  }
}

TEST_F(QpEventsTest, CommunicationIsEstablishedUntilReset) {
  EXPECT_FALSE(events.established());
  events.raise(request_error);
  EXPECT_FALSE(events.established());
  events.raise(communication_established);
  EXPECT_TRUE(events.established());
  events.reset();
  EXPECT_FALSE(events.established());
  for (int i = 0; i < 2; ++i) next_event();
}

TEST_F(QpEventsTest, ADrainIsToldOnceAndOnlyIfThatWasAskedFor) {
  events.raise(send_queue_drained);
  EXPECT_FALSE(event_waits());
  events.notify_drained(true);
  EXPECT_TRUE(events.notifies_drained());
  events.raise(send_queue_drained);
  EXPECT_EQ(next_event().type, IBV_EVENT_SQ_DRAINED);
  EXPECT_FALSE(events.notifies_drained());
  events.raise(send_queue_drained);
  EXPECT_FALSE(event_waits());
  events.notify_drained(true);
  events.reset();
  events.raise(send_queue_drained);
  EXPECT_FALSE(event_waits());
}

TEST_F(QpEventsTest, TheLastWqeIsReachedOnce) {
  for (int i = 0; i < 2; ++i) events.raise(last_wqe_reached);
  EXPECT_EQ(next_event().type, IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_FALSE(event_waits());
  events.reset();
  events.raise(last_wqe_reached);
  EXPECT_EQ(next_event().type, IBV_EVENT_QP_LAST_WQE_REACHED);
}

TEST_F(QpEventsTest, WithoutAnSrqNobodyWaitsForTheLastWqe) {
  QpEvents without(context.events(), target, false);
  without.raise(last_wqe_reached);
  EXPECT_FALSE(event_waits());
}

}  // namespace
}  // namespace softrnic::rnic::test
