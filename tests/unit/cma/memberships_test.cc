// Multicast memberships by themselves.
#include "cma/memberships.h"

#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/cma/asked.h"
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

  Asked host;
  IdTable ids;
  IdEvents events{ids, [](ChannelNumber) {}};
  ChannelNumber channel = events.open_channel();
  Memberships memberships{host, ids, events};
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

// ---- InfiniBand

class GroupsOfASubnetAdministrator : public MembershipsTest {
 protected:
  GroupsOfASubnetAdministrator() {
    id.binding.kind = device::Kind::infiniband;
    id.binding.interface_index = 2;
    id.binding.gid = address("fe80::5").host;
  }
  MembershipNumber join() {
    const auto number = memberships.join(id, 9, RDMA_MC_JOIN_FLAG_FULLMEMBER, group);
    EXPECT_TRUE(number);
    EXPECT_FALSE(fetch()) << "not before the answer";
    return number ? *number : 0;
  }
  GroupRecord record() const {
    GroupRecord out;
    out.group = host.groups.back().second.group;
    out.lid = wire::Lid(0xc001);
    out.qkey = RDMA_UDP_QKEY;
    out.pkey = 0xffff;
    out.flow_label = 0x12345;
    out.hop_limit = 3;
    out.traffic_class = 0x40;
    out.sl = 4;
    out.rate = IBV_RATE_40_GBPS;
    return out;
  }
  Id& id = make_id();
};

TEST_F(GroupsOfASubnetAdministrator, AreAskedForAndAddressedByLid) {
  const MembershipNumber number = join();
  ASSERT_EQ(host.groups.size(), 1U);
  const GroupQuery& query = host.groups[0].second;
  EXPECT_EQ(host.groups[0].first, number);
  EXPECT_EQ(query.group, address("ff12:4001:ffff::f01:101").host);
  EXPECT_EQ(query.broadcast, address("ff12:401b:ffff::ffff:ffff").host);
  EXPECT_EQ(query.port_gid, address("fe80::5").host);
  EXPECT_EQ(query.port, 2U);
  EXPECT_EQ(query.pkey, 0xffff);
  EXPECT_EQ(query.qkey, unsigned{RDMA_UDP_QKEY});
  EXPECT_FALSE(query.send_only);
  memberships.joined(number, record());
  const auto event = fetch();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, unsigned{RDMA_CM_EVENT_MULTICAST_JOIN});
  EXPECT_EQ(event->cookie, 9U);
  EXPECT_EQ(event->parameters.qkey, unsigned{RDMA_UDP_QKEY});
  EXPECT_EQ(event->address.gid, query.group);
  EXPECT_EQ(event->address.dlid, wire::Lid(0xc001));
  EXPECT_EQ(event->address.flow_label, 0x12345U);
  EXPECT_EQ(event->address.hop_limit, 3);
  EXPECT_EQ(event->address.traffic_class, 0x40);
  EXPECT_EQ(event->address.sl, 4);
  EXPECT_EQ(event->address.static_rate, IBV_RATE_40_GBPS);
  EXPECT_TRUE(event->address.is_global);
  memberships.joined(number, record());
  EXPECT_FALSE(fetch()) << "an answer that nobody waits for";
  EXPECT_EQ(*memberships.leave(number), 1U);
  EXPECT_EQ(host.left, std::vector{number});
}

TEST_F(GroupsOfASubnetAdministrator, ThatCannotBeJoinedAreAnErrorAndNotLeft) {
  const MembershipNumber number = join();
  memberships.joined(number, Unexpected{refuse(ETIMEDOUT, ReasonId::cma_no_port_there)});
  const auto event = fetch();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, unsigned{RDMA_CM_EVENT_MULTICAST_ERROR});
  EXPECT_EQ(event->status, -ETIMEDOUT);
  EXPECT_EQ(event->membership, number);
  EXPECT_EQ(event->cookie, 9U);
  EXPECT_TRUE(memberships.leave(number));
  EXPECT_TRUE(host.left.empty());
}

TEST_F(GroupsOfASubnetAdministrator, AreLeftBeforeTheAnswerToo) {
  const MembershipNumber number = join();
  EXPECT_TRUE(memberships.leave(number));
  EXPECT_EQ(host.left, std::vector{number});
  memberships.joined(number, record());
  EXPECT_FALSE(fetch());
  const MembershipNumber next = join();
  memberships.leave_all(id.number);
  EXPECT_EQ(host.left, (std::vector{number, next}));
}

TEST_F(GroupsOfASubnetAdministrator, MayBeMadeByItWithAnMgidOfItsOwn) {
  const auto number = memberships.join(id, 9, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, address("0.0.0.0"));
  ASSERT_TRUE(number);
  EXPECT_TRUE(host.groups.back().second.group.is_zero());
  EXPECT_TRUE(host.groups.back().second.send_only);
  GroupRecord made = record();
  made.group = address("ff12:a01b:fe80::1").host;
  memberships.joined(*number, made);
  EXPECT_EQ(fetch()->address.gid, made.group);
}

TEST_F(GroupsOfASubnetAdministrator, WithRecordsThatMakeNoSenseAreAnErrorAndLeft) {
  constexpr void (*kSpoil[])(GroupRecord&) = {[](GroupRecord& r) { r.lid = wire::Lid(0xbfff); },
                                              [](GroupRecord& r) { r.lid = wire::kPermissiveLid; },
                                              [](GroupRecord& r) { r.group.raw[15] ^= std::byte{1}; },
                                              [](GroupRecord& r) { r.qkey = 0x11; },
                                              [](GroupRecord& r) { r.pkey = 0x8001; },
                                              [](GroupRecord& r) { r.sl = 16; },
                                              [](GroupRecord& r) { r.rate = 64; },
                                              [](GroupRecord& r) { r.flow_label = 1U << 20; }};
  std::size_t spoilt = 0;
  for (const auto spoil : kSpoil) {
    const MembershipNumber number = join();
    GroupRecord bad = record();
    spoil(bad);
    memberships.joined(number, bad);
    const auto event = fetch();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, unsigned{RDMA_CM_EVENT_MULTICAST_ERROR});
    EXPECT_EQ(event->reason.id, ReasonId::cma_group_record);
    EXPECT_EQ(host.left.size(), ++spoilt);
    EXPECT_TRUE(memberships.leave(number));
    EXPECT_EQ(host.left.size(), spoilt) << "once";
  }
}

}  // namespace
}  // namespace softrnic::cma
