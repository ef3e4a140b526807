// What ids were told, by itself: the counts agree with what waits in the channels.
#include "cma/id_events.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace softrnic::cma {
namespace {

class IdEventsTest : public ::testing::Test {
 protected:
  Id& make_id(ChannelNumber on) {
    Id& id = ids.add(PortSpace::tcp, IBV_QPT_RC, 0);
    events.attach(id, on);
    return id;
  }
  static Event of_kind(std::uint32_t kind) {
    Event event;
    event.kind = kind;
    return event;
  }

  IdTable ids;
  std::vector<ChannelNumber> queued;
  IdEvents events{ids, [this](ChannelNumber on) { queued.push_back(on); }};
  ChannelNumber channel = events.open_channel();
};

TEST_F(IdEventsTest, BearTheIdAndItsCookie) {
  Id& id = make_id(channel);
  id.cookie = 7;
  events.tell(id, of_kind(RDMA_CM_EVENT_ADDR_RESOLVED));
  EXPECT_EQ(queued, std::vector{channel});
  EXPECT_EQ(id.queued_events, 1U);
  const auto event = events.fetch(channel);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->id, id.number);
  EXPECT_EQ(event->cookie, 7U);
  EXPECT_EQ(id.queued_events, 0U);
  EXPECT_EQ(id.fetched_events, 1U);
  EXPECT_FALSE(events.fetch(channel));
}

TEST_F(IdEventsTest, NobodyIsToldOfAnIdThatIsQuietOrNotAccepted) {
  Id& id = make_id(channel);
  id.accepted = false;
  events.tell(id, of_kind(RDMA_CM_EVENT_DISCONNECTED));
  EXPECT_FALSE(events.fetch(channel));
  EXPECT_TRUE(events.write(id, RDMA_CM_EVENT_TIMEWAIT_EXIT + 1, 0, 0)) << "but of what the program writes";
  EXPECT_TRUE(events.fetch(channel));
  id.accepted = id.quiet = true;
  events.tell(id, of_kind(RDMA_CM_EVENT_DISCONNECTED));
  EXPECT_FALSE(events.fetch(channel));
}

TEST_F(IdEventsTest, ARequestIsCountedForItsListenerUntilItIsFetched) {
  Id &listener = make_id(channel), &request = make_id(channel);
  events.tell_request(listener, request, of_kind(RDMA_CM_EVENT_CONNECT_REQUEST));
  EXPECT_EQ(request.waits_at, listener.number);
  EXPECT_FALSE(request.accepted);
  EXPECT_EQ(listener.unfetched_requests, 1U);
  EXPECT_EQ(listener.queued_events, 1U);
  EXPECT_EQ(request.queued_events, 0U);
  const auto event = events.fetch(channel);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->id, request.number);
  EXPECT_EQ(event->listener, listener.number);
  EXPECT_EQ(request.waits_at, 0U);
  EXPECT_EQ(listener.unfetched_requests, 0U);
  EXPECT_EQ(listener.fetched_events, 1U);
}

TEST_F(IdEventsTest, ARequestThatIsTakenBackLeavesItsListenersOthers) {
  Id &listener = make_id(channel), &gone = make_id(channel), &stays = make_id(channel);
  events.tell_request(listener, gone, of_kind(RDMA_CM_EVENT_CONNECT_REQUEST));
  events.tell_request(listener, stays, of_kind(RDMA_CM_EVENT_CONNECT_REQUEST));
  EXPECT_TRUE(events.drop_request(gone));
  EXPECT_EQ(events.channels().withdrawn(channel), 1U);
  EXPECT_EQ(listener.unfetched_requests, 1U);
  EXPECT_EQ(listener.queued_events, 1U);
  EXPECT_FALSE(events.drop_request(stays)) << "a program that has polled would find nothing";
  EXPECT_EQ(events.channels().withdrawn(channel), 1U);
  EXPECT_EQ(events.fetch(channel)->id, stays.number);
  EXPECT_EQ(listener.queued_events, 0U);
}

TEST_F(IdEventsTest, AListenerThatEndsNamesTheRequestsNobodyHeardOf) {
  Id &listener = make_id(channel), &heard = make_id(channel), &unheard = make_id(channel);
  events.tell_request(listener, heard, of_kind(RDMA_CM_EVENT_CONNECT_REQUEST));
  events.tell_request(listener, unheard, of_kind(RDMA_CM_EVENT_CONNECT_REQUEST));
  ASSERT_TRUE(events.fetch(channel));
  EXPECT_EQ(events.drop(listener), std::vector{unheard.number});
  EXPECT_FALSE(events.fetch(channel));
}

TEST_F(IdEventsTest, MoveWithTheirIdAndItsUnheardRequests) {
  const ChannelNumber other = events.open_channel();
  Id &listener = make_id(channel), &request = make_id(channel), &stays = make_id(channel);
  events.tell_request(listener, request, of_kind(RDMA_CM_EVENT_CONNECT_REQUEST));
  events.tell(stays, of_kind(RDMA_CM_EVENT_ADDR_RESOLVED));
  queued.clear();
  ASSERT_TRUE(events.migrate(listener, other));
  EXPECT_EQ(queued, std::vector{other});
  EXPECT_EQ(events.channels().withdrawn(channel), 1U);
  EXPECT_EQ(events.channels().withdrawn(other), 0U);
  EXPECT_EQ(listener.channel, other);
  EXPECT_EQ(request.channel, other);
  EXPECT_EQ(events.channels().ids(other), 2U);
  EXPECT_EQ(events.channels().ids(channel), 1U);
  EXPECT_EQ(events.fetch(other)->id, request.number);
  EXPECT_EQ(events.fetch(channel)->id, stays.number);
  const auto nowhere = events.migrate(listener, other + 1);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().error, EINVAL);
}

TEST_F(IdEventsTest, OfAClosedChannelCountForNothing) {
  Id& id = make_id(channel);
  events.close_channel(channel);
  queued.clear();
  events.tell(id, of_kind(RDMA_CM_EVENT_ADDR_RESOLVED));
  EXPECT_TRUE(queued.empty());
  EXPECT_EQ(id.queued_events, 0U);
}

}  // namespace
}  // namespace softrnic::cma
