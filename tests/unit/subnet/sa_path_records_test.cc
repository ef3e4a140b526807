#include "subnet/sa_path_records.h"

#include <gtest/gtest.h>

#include "sa_client.h"

namespace softrnic::subnet {
namespace {

using namespace testing;
using mad::Method;
using mad::PathRecord;
using mad::SaStatus;
using mad::Selector;

constexpr std::uint64_t kSgid = mad::component<PathRecord>("sgid");
constexpr std::uint64_t kDgid = mad::component<PathRecord>("dgid");
constexpr std::uint64_t kSlid = mad::component<PathRecord>("slid");
constexpr std::uint64_t kDlid = mad::component<PathRecord>("dlid");
constexpr std::uint64_t kGids = kSgid | kDgid;
constexpr std::uint64_t kMtu = mad::component<PathRecord>("mtu") | mad::component<PathRecord>("mtu_selector");
constexpr std::uint64_t kRate =
    mad::component<PathRecord>("rate") | mad::component<PathRecord>("rate_selector");
constexpr std::uint64_t kLife =
    mad::component<PathRecord>("packet_life_time") | mad::component<PathRecord>("packet_life_time_selector");

PathRecord between(SaClient& client, SimPlace from, SimPlace to) {
  PathRecord query;
  query.sgid = client.gid(from);
  query.dgid = client.gid(to);
  query.slid = Lid(client.subnet.lid_of(from));
  query.dlid = Lid(client.subnet.lid_of(to));
  return query;
}

TEST(SaPathRecords, SayHowToGetFromPortToPort) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  const SaAnswer answer = client.ask(Method::get, kGids, between(client, {1, 1}, {5, 1}));
  ASSERT_EQ(answer.status, 0);
  const auto path = answer.record<PathRecord>();
  EXPECT_EQ(path.sgid, client.gid({1, 1}));
  EXPECT_EQ(path.dgid, client.gid({5, 1}));
  EXPECT_EQ(path.slid.value, subnet.lid_of({1, 1}));
  EXPECT_EQ(path.dlid.value, subnet.lid_of({5, 1}));
  EXPECT_EQ(path.mtu, mad::Mtu::b4096);
  EXPECT_EQ(path.rate, mad::Rate::gb40);
  EXPECT_EQ(path.mtu_selector, Selector::exactly);
  EXPECT_EQ(path.packet_life_time, 18);
  EXPECT_EQ(path.p_key, 0xffff);
  EXPECT_TRUE(path.reversible);
  EXPECT_EQ(path.hop_limit, 0);
  EXPECT_EQ(client.ask(Method::get, kSlid | kDlid, between(client, {1, 1}, {5, 1})).data, answer.data);
}

TEST(SaPathRecords, AreAsGoodAsTheWorstPortOfTheRoute) {
  SaTree subnet({}, 3, 1);
  const SimPlace up = {subnet.leaves[2], 3};
  ASSERT_EQ(subnet.at(up).peer.node, subnet.spines[0]);
  subnet.at(up).info.mtu_cap = mad::Mtu::b1024;
  subnet.at(subnet.at(up).peer).info.link_width_active = subnet.at(up).info.link_width_active =
      mad::LinkWidth::x1;
  subnet.manager.request_sweep();
  subnet.run(seconds(1));
  SaClient& client = *subnet.client;
  const auto far = client.ask(Method::get, kGids, between(client, {1, 1}, {5, 1})).record<PathRecord>();
  EXPECT_EQ(far.mtu, mad::Mtu::b1024);
  EXPECT_EQ(far.rate, mad::Rate::gb10);
  const auto near = client.ask(Method::get, kGids, between(client, {1, 1}, {2, 1})).record<PathRecord>();
  EXPECT_EQ(near.mtu, mad::Mtu::b4096);
  EXPECT_EQ(near.rate, mad::Rate::gb40);
  const auto to_switch =
      client.ask(Method::get, kGids, between(client, {1, 1}, {subnet.leaves[2], 0})).record<PathRecord>();
  EXPECT_EQ(to_switch.mtu, mad::Mtu::b1024);
  const auto own = client.ask(Method::get, kGids, between(client, {1, 1}, {1, 1})).record<PathRecord>();
  EXPECT_EQ(own.packet_life_time, 0);
  EXPECT_EQ(own.dlid, own.slid);
}

TEST(SaPathRecords, AreChosenBySelectors) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  const auto ask = [&](std::uint64_t mask, auto change) {
    PathRecord query = between(client, {1, 1}, {5, 1});
    change(query);
    return client.ask(Method::get, kGids | mask, query);
  };
  const auto mtu = [&](Selector selector, mad::Mtu wanted) {
    return ask(kMtu, [&](PathRecord& q) {
      q.mtu_selector = selector;
      q.mtu = wanted;
    });
  };
  EXPECT_EQ(mtu(Selector::exactly, mad::Mtu::b2048).record<PathRecord>().mtu, mad::Mtu::b2048);
  EXPECT_EQ(mtu(Selector::less_than, mad::Mtu::b4096).record<PathRecord>().mtu, mad::Mtu::b2048);
  EXPECT_EQ(mtu(Selector::greater_than, mad::Mtu::b2048).record<PathRecord>().mtu, mad::Mtu::b4096);
  EXPECT_EQ(mtu(Selector::greater_than, mad::Mtu::b4096).sa(), SaStatus::no_records);
  EXPECT_EQ(mtu(Selector::best, mad::Mtu::b256).record<PathRecord>().mtu, mad::Mtu::b4096);
  EXPECT_EQ(mtu(Selector::less_than, mad::Mtu::b256).sa(), SaStatus::no_records);

  const auto rate = [&](Selector selector, mad::Rate wanted) {
    return ask(kRate, [&](PathRecord& q) {
      q.rate_selector = selector;
      q.rate = wanted;
    });
  };
  EXPECT_EQ(rate(Selector::exactly, mad::Rate::gb40).record<PathRecord>().rate, mad::Rate::gb40);
  EXPECT_EQ(rate(Selector::exactly, mad::Rate::gb10).sa(), SaStatus::no_records);
  EXPECT_EQ(rate(Selector::greater_than, mad::Rate::gb30).record<PathRecord>().rate, mad::Rate::gb40);
  EXPECT_EQ(rate(Selector::less_than, mad::Rate::gb40).record<PathRecord>().rate, mad::Rate::gb28)
      << "27.3 Gb/s of data, the next below 32";
  const auto life = [&](Selector selector, std::uint8_t wanted) {
    return ask(kLife, [&](PathRecord& q) {
      q.packet_life_time_selector = selector;
      q.packet_life_time = wanted;
    });
  };
  EXPECT_EQ(life(Selector::less_than, 18).record<PathRecord>().packet_life_time, 17);
  EXPECT_EQ(life(Selector::greater_than, 18).sa(), SaStatus::no_records);
}

TEST(SaPathRecords, OfUnknownPortsThereAreNone) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  PathRecord query = between(client, {1, 1}, {5, 1});
  query.dgid.raw[15] = std::byte{0xee};
  EXPECT_EQ(client.ask(Method::get, kGids, query).sa(), SaStatus::invalid_gid);
  query = between(client, {1, 1}, {5, 1});
  query.dgid.raw[0] = std::byte{0x20};
  EXPECT_EQ(client.ask(Method::get, kGids, query).sa(), SaStatus::invalid_gid) << "no router leads there";
  query.dlid = Lid(0x6666);
  EXPECT_EQ(client.ask(Method::get, kSlid | kDlid, query).sa(), SaStatus::no_records);
  query = between(client, {1, 1}, {5, 1});
  query.dlid = Lid(subnet.lid_of({4, 1}));
  EXPECT_EQ(client.ask(Method::get, kGids | kDlid, query).sa(), SaStatus::no_records) << "another port's";
}

TEST(SaPathRecords, OfAllPairsAgreeWithTheTablesThatWereSent) {
  SaTree subnet;
  const auto all = subnet.client->table<PathRecord>();
  EXPECT_EQ(all.size(), 11U * 11U);
  std::map<std::uint16_t, SimPlace> hosts;
  for (const SimPlace place : subnet.host_ports()) hosts[subnet.lid_of(place)] = place;
  for (const PathRecord& path : all) {
    const auto from = hosts.find(path.slid.value);
    const auto to = hosts.find(path.dlid.value);
    if (from == hosts.end() || to == hosts.end() || from == to) continue;
    EXPECT_TRUE(subnet.reaches(from->second, to->second));
  }
  PathRecord query = between(*subnet.client, {1, 1}, {5, 1});
  EXPECT_EQ(subnet.client->table(kSgid, query).size(), 11U);
  EXPECT_EQ(subnet.client->table(kDgid, query).size(), 11U);
}

TEST(SaPathRecords, OfPortsWithSeveralLidsAreSeveral) {
  ManagerOptions options;
  options.lids.lmc = 1;
  SaTree subnet(options);
  SaClient& client = *subnet.client;
  PathRecord query = between(client, {1, 1}, {5, 1});
  const auto all = client.table(kGids, query);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].preference, 0);
  EXPECT_EQ(all[1].preference, 0);
  EXPECT_NE(all[0].slid, all[1].slid);
  EXPECT_NE(all[0].dlid, all[1].dlid);
  query.num_paths = 3;
  EXPECT_EQ(client.table(kGids | mad::component<PathRecord>("num_paths"), query).size(), 3U);
  query.dlid = Lid(static_cast<std::uint16_t>(query.dlid.value + 1));
  EXPECT_EQ(client.table(kGids | kDlid, query).size(), 2U);
}

ManagerOptions two_partitions() {
  ManagerOptions options;
  options.partitions[0].rules = {{PortChoice::all, {}, Membership::limited},
                                 {PortChoice::self, {}, Membership::full}};
  Partition pair;
  pair.name = "pair";
  pair.number = 0x12;
  pair.flags.sl = 3;
  for (const int host : {1, 2}) {
    const Guid guid(0x100000 + 16 * static_cast<unsigned>(host) + 1);
    pair.rules.push_back({PortChoice::guid, guid, host == 1 ? Membership::full : Membership::limited});
  }
  options.partitions.push_back(pair);
  return options;
}

TEST(SaPathRecords, NeedACommonPartition) {
  SaTree subnet(two_partitions());
  SaClient& client = *subnet.client;
  const auto pair = client.ask(Method::get, kGids, between(client, {1, 1}, {2, 1})).record<PathRecord>();
  EXPECT_EQ(pair.p_key, 0x8012);
  EXPECT_EQ(pair.sl, 3);
  EXPECT_EQ(client.ask(Method::get, kGids, between(client, {1, 1}, {3, 1})).sa(), SaStatus::no_records)
      << "both limited members of the default partition";
  EXPECT_EQ(client.ask(Method::get, kGids, between(client, {1, 1}, {0, 1})).record<PathRecord>().p_key,
            0x7fff);
  PathRecord query = between(client, {1, 1}, {2, 1});
  constexpr std::uint64_t kPKey = mad::component<PathRecord>("p_key");
  query.p_key = 0xffff;
  EXPECT_EQ(client.ask(Method::get, kGids | kPKey, query).sa(), SaStatus::no_records);
  query.p_key = 0x0012;
  EXPECT_EQ(client.ask(Method::get, kGids | kPKey, query).record<PathRecord>().p_key, 0x0012);
  SaClient other(subnet, {3, 1});
  EXPECT_EQ(other.ask(Method::get, kGids, between(other, {1, 1}, {2, 1})).sa(), SaStatus::no_records)
      << "of others' paths";
}

TEST(SaPathRecords, DoNotGoByAServiceLevelThatIsDropped) {
  ManagerOptions options = two_partitions();
  options.qos = true;
  ASSERT_TRUE(options.qos_config.set("qos_swe_sl2vl", "0,1,2,15,4,5,6,7,0,1,2,3,4,5,6,7").has_value());
  SaTree subnet(options);
  SaClient& client = *subnet.client;
  PathRecord query = between(client, {1, 1}, {2, 1});
  EXPECT_EQ(client.ask(Method::get, kGids, query).sa(), SaStatus::no_records);
  query.sl = 2;
  EXPECT_EQ(client.ask(Method::get, kGids | mad::component<PathRecord>("sl"), query).status, 0);
}

TEST(SaPathRecords, AmongSeveralPortsComeTogether) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  mad::MultiPathRecord query;
  query.sgid_count = 1;
  query.dgid_count = 3;
  query.gids[0] = client.gid({1, 1});
  for (int i = 0; i < 3; ++i) query.gids[static_cast<std::size_t>(i + 1)] = client.gid({3 + i, 1});
  const SaAnswer answer = client.ask(Method::get_multi, 0, query);
  ASSERT_EQ(answer.status, 0);
  EXPECT_EQ(answer.method, Method::get_multi_response);
  EXPECT_EQ(answer.attribute, PathRecord::kAttribute);
  const auto paths = answer.records<PathRecord>();
  ASSERT_EQ(paths.size(), 3U);
  EXPECT_EQ(paths[2].dlid.value, subnet.lid_of({5, 1}));
  query.dgid_count = 200;
  EXPECT_EQ(client.ask(Method::get_multi, 0, query).sa(), SaStatus::invalid_request);
  query.dgid_count = 0;
  EXPECT_EQ(client.ask(Method::get_multi, 0, query).sa(), SaStatus::insufficient_components);
}

}  // namespace
}  // namespace softrnic::subnet
