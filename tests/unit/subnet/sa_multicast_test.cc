#include "subnet/sa_multicast.h"

#include <gtest/gtest.h>

#include "mad/sa_path_records.h"
#include "sa_client.h"

namespace softrnic::subnet {
namespace {

using namespace testing;
using mad::McMemberRecord;
using mad::Method;
using mad::SaStatus;
namespace join_state = mad::join_state;

constexpr std::uint64_t kJoin = mad::component<McMemberRecord>("mgid") |
                                mad::component<McMemberRecord>("port_gid") |
                                mad::component<McMemberRecord>("join_state");
constexpr std::uint64_t kCreate =
    kJoin | mad::component<McMemberRecord>("q_key") | mad::component<McMemberRecord>("traffic_class") |
    mad::component<McMemberRecord>("p_key") | mad::component<McMemberRecord>("flow_label") |
    mad::component<McMemberRecord>("sl");

wire::Gid mgid_of(std::uint8_t last, std::uint16_t signature = 0x1234) {
  wire::Gid mgid;
  mgid.raw[0] = std::byte{0xff};
  mgid.raw[1] = std::byte{0x12};
  store_be16(&mgid.raw[2], signature);
  mgid.raw[15] = std::byte{last};
  return mgid;
}
wire::Gid broadcast() {
  wire::Gid mgid = mgid_of(0xff, 0x401b);
  store_be16(&mgid.raw[4], 0xffff);
  store_be32(&mgid.raw[12], 0xffffffff);
  return mgid;
}
McMemberRecord membership(SaClient& client, const wire::Gid& mgid,
                          std::uint8_t state = join_state::kFullMember) {
  McMemberRecord record;
  record.mgid = mgid;
  record.port_gid = client.gid(client.at);
  record.q_key = 0x1b;
  record.p_key = 0xffff;
  record.join_state = state;
  return record;
}
SaStatus join(SaClient& client, const wire::Gid& mgid, std::uint8_t state = join_state::kFullMember) {
  return client.ask(Method::set, kCreate, membership(client, mgid, state)).sa();
}
SaStatus leave(SaClient& client, const wire::Gid& mgid, std::uint8_t state = join_state::kFullMember) {
  return client.ask(Method::delete_record, kJoin, membership(client, mgid, state)).sa();
}
std::uint16_t mlid_of(Manager& manager, const wire::Gid& mgid) {
  const McGroup* const group = manager.groups().find(mgid);
  return group == nullptr ? std::uint16_t{0} : group->record.mlid.value;
}

/// A client on each host but the manager's.
struct Members : SaTree {
  explicit Members(ManagerOptions options = {}) : SaTree(std::move(options), 3, 2, 3) {
    for (const int host : host_ids)
      if (host > 0) clients.push_back(std::make_unique<SaClient>(*this, SimPlace{host, 1}));
  }
  SaClient& at_host(int host) { return *clients[static_cast<std::size_t>(host - 1)]; }
  void settle() { run(milliseconds(100)); }
  std::multiset<SimPlace> heard(int from, const wire::Gid& mgid) {
    return flood({from, 1}, mlid_of(manager, mgid));
  }
  std::vector<std::unique_ptr<SaClient>> clients;
};

TEST(SaMulticast, HasTheBroadcastGroupOfIpoib) {
  Members subnet;
  McMemberRecord query;
  query.mgid = broadcast();
  const SaAnswer answer = subnet.at_host(1).ask(Method::get, mad::component<McMemberRecord>("mgid"), query);
  ASSERT_EQ(answer.status, 0);
  const auto group = answer.record<McMemberRecord>();
  EXPECT_EQ(group.mlid.value, 0xc000);
  EXPECT_EQ(group.q_key, 0x0b1bU);
  EXPECT_EQ(group.mtu, mad::Mtu::b2048);
  EXPECT_EQ(group.rate, mad::Rate::gb10);
  EXPECT_EQ(group.p_key, 0xffff);
  EXPECT_EQ(subnet.log({0, 1}).count<event::GroupCreated>(), 1U);
}

TEST(SaMulticast, MembersHearOneAnotherOnceAndNobodyElseDoes) {
  Members subnet;
  for (const int host : {1, 2, 5, 8})
    EXPECT_EQ(join(subnet.at_host(host), broadcast()), SaStatus::invalid_request);
  const auto join_broadcast = [&](int host) {
    return subnet.at_host(host).ask(Method::set, kJoin, membership(subnet.at_host(host), broadcast())).status;
  };
  for (const int host : {1, 2, 5, 8}) EXPECT_EQ(join_broadcast(host), 0);
  subnet.settle();
  using Places = std::multiset<SimPlace>;
  EXPECT_EQ(subnet.heard(5, broadcast()), (Places{{1, 1}, {2, 1}, {8, 1}}));
  EXPECT_EQ(subnet.heard(1, broadcast()), (Places{{2, 1}, {5, 1}, {8, 1}}));
  EXPECT_EQ(leave(subnet.at_host(5), broadcast()), SaStatus::ok);
  subnet.settle();
  EXPECT_EQ(subnet.heard(1, broadcast()), (Places{{2, 1}, {8, 1}}));
  for (const int host : {1, 2, 8}) EXPECT_EQ(leave(subnet.at_host(host), broadcast()), SaStatus::ok);
  subnet.settle();
  EXPECT_TRUE(subnet.heard(1, broadcast()).empty());
  EXPECT_NE(subnet.manager.groups().find(broadcast()), nullptr) << "stays without members";
}

TEST(SaMulticast, AGroupLivesFromItsFirstFullMemberToItsLast) {
  Members subnet;
  const wire::Gid mgid = mgid_of(1);
  SaClient& first = subnet.at_host(1);
  SaClient& second = subnet.at_host(5);
  EXPECT_EQ(second.ask(Method::set, kJoin, membership(second, mgid)).sa(), SaStatus::insufficient_components);
  EXPECT_EQ(join(second, mgid, join_state::kNonMember), SaStatus::invalid_request);
  const SaAnswer made = first.ask(Method::set, kCreate, membership(first, mgid));
  ASSERT_EQ(made.status, 0);
  EXPECT_EQ(made.method, Method::get_response);
  const auto group = made.record<McMemberRecord>();
  EXPECT_EQ(group.mlid.value, 0xc001);
  EXPECT_EQ(group.mtu, mad::Mtu::b4096);
  EXPECT_EQ(group.mtu_selector, mad::Selector::exactly);
  EXPECT_EQ(group.rate, mad::Rate::gb40);
  EXPECT_EQ(group.join_state, join_state::kFullMember);
  EXPECT_EQ(group.port_gid, first.gid(first.at));
  EXPECT_EQ(join(second, mgid, join_state::kNonMember), SaStatus::ok);
  EXPECT_EQ(leave(first, mgid), SaStatus::ok);
  EXPECT_EQ(subnet.manager.groups().find(mgid), nullptr) << "a non-member keeps no group";
  EXPECT_EQ(leave(first, mgid), SaStatus::invalid_request);
  subnet.settle();
  EXPECT_TRUE(subnet.flood({1, 1}, 0xc001).empty());
  EXPECT_EQ(join(second, mgid_of(2)), SaStatus::ok);
  EXPECT_EQ(mlid_of(subnet.manager, mgid_of(2)), 0xc001) << "the lowest free one";
}

TEST(SaMulticast, WaysToBeInAGroupAddUpAndGoOneByOne) {
  Members subnet;
  SaClient& client = subnet.at_host(1);
  ASSERT_EQ(join(client, mgid_of(1)), SaStatus::ok);
  const SaAnswer both =
      client.ask(Method::set, kCreate, membership(client, mgid_of(1), join_state::kNonMember));
  EXPECT_EQ(both.record<McMemberRecord>().join_state, join_state::kFullMember | join_state::kNonMember);
  EXPECT_EQ(leave(client, mgid_of(1), join_state::kSendOnlyNonMember), SaStatus::invalid_request);
  EXPECT_EQ(leave(client, mgid_of(1), join_state::kNonMember), SaStatus::ok);
  EXPECT_NE(subnet.manager.groups().find(mgid_of(1)), nullptr);
  EXPECT_EQ(leave(client, mgid_of(1), 0), SaStatus::invalid_request);
  EXPECT_EQ(leave(client, mgid_of(1)), SaStatus::ok);
  EXPECT_EQ(subnet.manager.groups().find(mgid_of(1)), nullptr);
}

TEST(SaMulticast, WhoOnlySendsHearsNothing) {
  Members subnet;
  ASSERT_EQ(join(subnet.at_host(1), mgid_of(1)), SaStatus::ok);
  ASSERT_EQ(join(subnet.at_host(8), mgid_of(1), join_state::kSendOnlyNonMember), SaStatus::ok);
  subnet.settle();
  EXPECT_EQ(subnet.heard(8, mgid_of(1)), (std::multiset<SimPlace>{{1, 1}}));
  EXPECT_TRUE(subnet.heard(1, mgid_of(1)).empty());
  ASSERT_EQ(join(subnet.at_host(7), mgid_of(2), join_state::kSendOnlyFullMember), SaStatus::ok);
}

TEST(SaMulticast, MakesAnMgidWhenAskedForNone) {
  Members subnet;
  SaClient& client = subnet.at_host(1);
  const auto one = client.ask(Method::set, kCreate, membership(client, {})).record<McMemberRecord>();
  const auto two = client.ask(Method::set, kCreate, membership(client, {})).record<McMemberRecord>();
  EXPECT_EQ(load_be16(&one.mgid.raw[0]), 0xff12);
  EXPECT_EQ(load_be16(&one.mgid.raw[2]), 0xa01b);
  EXPECT_NE(one.mgid, two.mgid);
  EXPECT_NE(one.mlid, two.mlid);
  EXPECT_EQ(join(subnet.at_host(2), one.mgid), SaStatus::ok);
}

TEST(SaMulticast, RefusesWhatCannotBe) {
  Members subnet;
  SaClient& client = subnet.at_host(1);
  const auto refused = [&](std::uint64_t mask, auto change) {
    McMemberRecord record = membership(client, mgid_of(9));
    change(record);
    return client.ask(Method::set, kCreate | mask, record).sa();
  };
  EXPECT_EQ(refused(0, [](McMemberRecord& r) { r.mgid.raw[0] = std::byte{0xfe}; }),
            SaStatus::invalid_request);
  EXPECT_EQ(refused(0, [](McMemberRecord& r) { r.mgid.raw[1] = std::byte{0xf2}; }),
            SaStatus::invalid_request);
  EXPECT_EQ(refused(0, [](McMemberRecord& r) { r.mgid = mgid_of(1, 0xa01b); }), SaStatus::invalid_request);
  EXPECT_EQ(refused(0, [](McMemberRecord& r) { r.port_gid.raw[0] = std::byte{0x20}; }),
            SaStatus::invalid_gid);
  EXPECT_EQ(refused(0, [](McMemberRecord& r) { r.port_gid.raw[9] = std::byte{0x77}; }),
            SaStatus::invalid_request);
  EXPECT_EQ(refused(0, [](McMemberRecord& r) { r.p_key = 0x8000; }), SaStatus::invalid_request);
  EXPECT_EQ(refused(0, [](McMemberRecord& r) { r.p_key = 0x8123; }), SaStatus::invalid_request);
  EXPECT_EQ(refused(0, [](McMemberRecord& r) { r.join_state = 0; }), SaStatus::invalid_request);
  const std::uint64_t mtu =
      mad::component<McMemberRecord>("mtu") | mad::component<McMemberRecord>("mtu_selector");
  EXPECT_EQ(refused(mtu,
                    [](McMemberRecord& r) {
                      r.mtu_selector = mad::Selector::greater_than;
                      r.mtu = mad::Mtu::b4096;
                    }),
            SaStatus::invalid_request);
  EXPECT_EQ(refused(mtu,
                    [](McMemberRecord& r) {
                      r.mtu_selector = mad::Selector::exactly;
                      r.mtu = static_cast<mad::Mtu>(33);
                    }),
            SaStatus::invalid_request);
  EXPECT_EQ(subnet.manager.groups().all().size(), 1U);
  EXPECT_EQ(join(client, mgid_of(9)), SaStatus::ok);
  EXPECT_EQ(refused(0, [](McMemberRecord& r) { r.q_key = 2; }), SaStatus::invalid_request)
      << "the group's is another";
  EXPECT_EQ(refused(0, [](McMemberRecord& r) { r.sl = 2; }), SaStatus::invalid_request);
}

TEST(SaMulticast, AGroupOfIpoibNeedsItsBroadcastGroup) {
  Members subnet;
  SaClient& client = subnet.at_host(1);
  wire::Gid mgid = mgid_of(1, 0x401b);
  store_be16(&mgid.raw[4], 0xffff);
  McMemberRecord record = membership(client, mgid);
  EXPECT_EQ(client.ask(Method::set, kCreate, record).sa(), SaStatus::invalid_request) << "another Q_Key";
  record.q_key = 0x0b1b;
  EXPECT_EQ(client.ask(Method::set, kCreate, record).sa(), SaStatus::ok);
  store_be16(&record.mgid.raw[4], 0x8001);
  EXPECT_EQ(client.ask(Method::set, kCreate, record).sa(), SaStatus::invalid_request);
}

TEST(SaMulticast, APortIsTakenOutByItselfOrByItsPartition) {
  Members subnet;
  SaClient& own = subnet.at_host(1);
  SaClient& other = subnet.at_host(2);
  ASSERT_EQ(join(own, mgid_of(1)), SaStatus::ok);
  McMemberRecord record = membership(own, mgid_of(1));
  EXPECT_EQ(other.ask(Method::delete_record, kJoin, record).sa(), SaStatus::invalid_request);
  record = membership(subnet.at_host(3), mgid_of(1));
  const SaAnswer proxy = other.ask(Method::set, kCreate, record);
  ASSERT_EQ(proxy.status, 0);
  EXPECT_TRUE(proxy.record<McMemberRecord>().proxy_join);
  EXPECT_EQ(own.ask(Method::delete_record, kJoin, record).sa(), SaStatus::ok);
}

TEST(SaMulticast, TellsMembersToThoseAloneWhoKnowItsKey) {
  Members subnet;
  ASSERT_EQ(join(subnet.at_host(1), mgid_of(1)), SaStatus::ok);
  ASSERT_EQ(join(subnet.at_host(5), mgid_of(1)), SaStatus::ok);
  SaClient& client = subnet.at_host(3);
  McMemberRecord query;
  query.mgid = mgid_of(1);
  const std::uint64_t mgid = mad::component<McMemberRecord>("mgid");
  const auto groups = client.table(mgid, query);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_TRUE(groups[0].port_gid.is_zero());
  EXPECT_EQ(groups[0].join_state, 0);
  const auto members = client.table(mgid, query, 1);
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[1].port_gid, client.gid({5, 1}));
  EXPECT_EQ(client.table<McMemberRecord>().size(), 2U);
}

TEST(SaMulticast, APathToAGroupIsTheGroups) {
  Members subnet;
  mad::PathRecord query;
  query.dgid = broadcast();
  query.sgid = subnet.at_host(1).gid({1, 1});
  const std::uint64_t gids =
      mad::component<mad::PathRecord>("dgid") | mad::component<mad::PathRecord>("sgid");
  const auto path = subnet.at_host(1).ask(Method::get, gids, query).record<mad::PathRecord>();
  EXPECT_EQ(path.dlid.value, 0xc000);
  EXPECT_EQ(path.mtu, mad::Mtu::b2048);
}

TEST(SaMulticast, TreesFollowTheSubnet) {
  Members subnet;
  for (const int host : {1, 5, 8}) ASSERT_EQ(join(subnet.at_host(host), mgid_of(1)), SaStatus::ok);
  ASSERT_EQ(join(subnet.at_host(5), mgid_of(2)), SaStatus::ok);
  subnet.settle();
  subnet.kill(subnet.spines[0]);
  subnet.run(seconds(15));
  EXPECT_EQ(subnet.heard(1, mgid_of(1)), (std::multiset<SimPlace>{{5, 1}, {8, 1}}));
  subnet.kill(subnet.spines[1]);
  subnet.run(seconds(15));
  EXPECT_EQ(subnet.manager.groups().find(mgid_of(1))->members.size(), 1U) << "the others are gone";
  EXPECT_EQ(subnet.manager.groups().find(mgid_of(2)), nullptr) << "its only member is gone";
}

TEST(SaMulticast, LidsRunOutAndThenThereAreNoMore) {
  SaTree subnet;
  for (const int sw : {6, 7, 8, 9, 10}) subnet.node({sw, 0}).switch_info.multicast_fdb_cap = 4;
  subnet.manager.request_sweep();
  subnet.run(seconds(1));
  SaClient& client = *subnet.client;
  for (std::uint8_t i = 1; i <= 3; ++i) EXPECT_EQ(join(client, mgid_of(i)), SaStatus::ok);
  EXPECT_EQ(join(client, mgid_of(4)), SaStatus::no_resources);
  EXPECT_EQ(leave(client, mgid_of(2)), SaStatus::ok);
  EXPECT_EQ(join(client, mgid_of(4)), SaStatus::ok);
}

}  // namespace
}  // namespace softrnic::subnet
