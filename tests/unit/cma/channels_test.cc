// Event channels by themselves.
#include "cma/channels.h"

#include <gtest/gtest.h>

#include "cma/early_requests.h"

namespace softrnic::cma {
namespace {

Event event_of(IdNumber id) {
  Event event;
  event.id = id;
  return event;
}

TEST(ChannelsTest, GiveEventsInTheirOrder) {
  Channels channels;
  const ChannelNumber channel = channels.open();
  EXPECT_TRUE(channels.put(channel, event_of(1)));
  EXPECT_TRUE(channels.put(channel, event_of(2)));
  EXPECT_EQ(channels.take(channel)->id, 1U);
  EXPECT_EQ(channels.take(channel)->id, 2U);
  EXPECT_FALSE(channels.take(channel));
}

TEST(ChannelsTest, OnesThatAreClosedTakeNothing) {
  Channels channels;
  const ChannelNumber channel = channels.open();
  channels.id_came(channel);
  EXPECT_EQ(channels.ids(channel), 1U);
  channels.close(channel);
  EXPECT_FALSE(channels.has(channel));
  EXPECT_FALSE(channels.put(channel, event_of(1)));
  EXPECT_FALSE(channels.take(channel));
  EXPECT_EQ(channels.ids(channel), 0U);
  channels.id_left(channel);  // of an id that outlives its channel
}

TEST(ChannelsTest, ChosenEventsMoveBehindThoseOfTheOther) {
  Channels channels;
  const ChannelNumber from = channels.open();
  const ChannelNumber to = channels.open();
  EXPECT_NE(from, to);
  for (const IdNumber id : {1U, 2U, 1U}) channels.put(from, event_of(id));
  channels.put(to, event_of(3));
  EXPECT_EQ(channels.move(from, to, [](const Event& event) { return event.id == 1; }), 2U);
  EXPECT_EQ(channels.take(from)->id, 2U);
  EXPECT_FALSE(channels.take(from));
  for (const IdNumber id : {3U, 1U, 1U}) EXPECT_EQ(channels.take(to)->id, id);
}

TEST(EarlyRequestQueueTest, TheOldestMakesRoomAndDataIsKept) {
  EarlyRequests requests;
  const TimePoint now{std::chrono::seconds(1)};
  EXPECT_EQ(requests.deadline(), kNever);
  for (std::uint32_t i = 1; i <= EarlyRequests::kMost; ++i) {
    const std::byte data[] = {static_cast<std::byte>(i)};
    cm::Event event;
    event.id = cm::Id(i);
    event.private_data = data;
    EXPECT_FALSE(requests.keep(event, now));
  }
  const auto oldest = requests.keep(cm::Event{}, now + std::chrono::milliseconds(1));
  ASSERT_TRUE(oldest);
  EXPECT_EQ(oldest->event.id, cm::Id(1));
  ASSERT_EQ(oldest->event.private_data.size(), 1U);
  EXPECT_EQ(oldest->event.private_data[0], std::byte{1});
  EXPECT_EQ(requests.deadline(), now + EarlyRequests::kPatience);

  const auto taken =
      requests.take([](const EarlyRequests::Request& request) { return request.event.id == cm::Id(7); });
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].event.private_data[0], std::byte{7});
  EXPECT_EQ(requests.take([](const EarlyRequests::Request&) { return true; }).size(),
            EarlyRequests::kMost - 1);
  EXPECT_TRUE(requests.empty());
}

}  // namespace
}  // namespace softrnic::cma
