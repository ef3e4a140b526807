// Multicast memberships by themselves.
#include "cma/memberships.h"

#include <cerrno>

#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

class MembershipsTest : public ::testing::Test {
 protected:
  Id& make_id() {
    Id& id = ids.add(PortSpace::udp, IBV_QPT_UD, 0);
    id.binding.device = 1;
    events.attach(id, channel);
    return id;
  }
  std::optional<Event> fetch() {
    auto event = events.fetch(channel);
    if (event) memberships.count_fetched(event->membership);
    return event;
  }

  IdTable ids;
  IdEvents events{ids, [](ChannelNumber) {}};
  ChannelNumber channel = events.open_channel();
  Memberships memberships{ids, events};
  const SocketAddress group = address("239.1.1.1"), other_group = address("ff0e::1");
};

TEST_F(MembershipsTest, TellTheGroupAndEndOnce) {
  Id& id = make_id();
  id.tos = 0x20;
  const auto number = memberships.join(id, 9, 0, group);
  ASSERT_TRUE(number);
  EXPECT_EQ(memberships.id_of(*number), id.number);
  const auto event = fetch();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->cookie, 9U);
  EXPECT_EQ(event->address.hop_limit, 64);
  EXPECT_EQ(event->address.traffic_class, 0x20);
  const auto fetched = memberships.leave(*number);
  ASSERT_TRUE(fetched);
  EXPECT_EQ(*fetched, 1U);
  EXPECT_EQ(memberships.id_of(*number), 0U);
  const auto again = memberships.leave(*number);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().error, EADDRNOTAVAIL);
}

TEST_F(MembershipsTest, LeavingDropsWhatNobodyFetchedOfThisOneAlone) {
  Id& id = make_id();
  const auto first = memberships.join(id, 1, 0, group), second = memberships.join(id, 2, 0, other_group);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*memberships.leave(*first), 0U);
  EXPECT_EQ(id.queued_events, 1U);
  const auto event = fetch();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->membership, *second);
  EXPECT_EQ(event->address.hop_limit, 1) << "IPv6 groups are of the link";
  EXPECT_FALSE(fetch());
}

TEST_F(MembershipsTest, EndWithTheirIdAndLeaveThoseOfOthers) {
  Id &one = make_id(), &other = make_id();
  const auto first = memberships.join(one, 1, 0, group), second = memberships.join(one, 2, 0, other_group);
  const auto stays = memberships.join(other, 3, 0, group);
  ASSERT_TRUE(first && second && stays);
  memberships.leave_all(one.number);
  EXPECT_EQ(memberships.id_of(*first), 0U);
  EXPECT_EQ(memberships.id_of(*second), 0U);
  EXPECT_EQ(memberships.id_of(*stays), other.number);
}

TEST_F(MembershipsTest, NeedADeviceAGroupAndOneQkey) {
  Id& id = make_id();
  const auto error = [](const auto& result) { return result ? 0 : result.error().error; };
  EXPECT_EQ(error(memberships.join(id, 1, 0, address("10.0.0.1"))), EINVAL);
  EXPECT_EQ(error(memberships.join(id, 1, RDMA_MC_JOIN_FLAG_RESERVED, group)), EINVAL);
  id.binding = {};
  EXPECT_EQ(error(memberships.join(id, 1, 0, group)), EINVAL);
  EXPECT_FALSE(fetch());
}

}  // namespace
}  // namespace softrnic::cma
