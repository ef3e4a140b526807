#include "subnet/administrator.h"

#include <gtest/gtest.h>

#include "mad/class_port_info.h"
#include "mad/sa_node_records.h"
#include "mad/sa_table_records.h"
#include "sa_client.h"

namespace softrnic::subnet {
namespace {

using namespace testing;
using mad::Method;
using mad::SaStatus;

TEST(Administrator, SaysWhatItCanDo) {
  SaTree subnet;
  const SaAnswer answer = subnet.client->ask(Method::get, 0, mad::ClassPortInfo{});
  ASSERT_EQ(answer.status, 0);
  EXPECT_EQ(answer.method, Method::get_response);
  const auto info = answer.record<mad::ClassPortInfo>();
  EXPECT_EQ(info.class_version, 2);
  EXPECT_NE(info.capability_mask & mad::sa_capability::kUdMulticast, 0);
}

TEST(Administrator, ListsNodes) {
  SaTree subnet;
  const auto all = subnet.client->table<mad::NodeRecord>();
  ASSERT_EQ(all.size(), subnet.nodes.size());
  std::set<std::uint64_t> guids;
  for (const auto& record : all) {
    guids.insert(record.node_info.node_guid.value);
    EXPECT_EQ(record.node_description.view().substr(0, 5), "node ");
  }
  EXPECT_EQ(guids.size(), subnet.nodes.size());

  mad::NodeRecord query;
  query.node_info.node_type = mad::NodeType::switch_node;
  EXPECT_EQ(subnet.client->table(mad::component<mad::NodeRecord>("node_type"), query).size(), 5U);
  query.lid = Lid(subnet.lid_of({2, 1}));
  const SaAnswer one = subnet.client->ask(Method::get, mad::component<mad::NodeRecord>("lid"), query);
  ASSERT_EQ(one.status, 0);
  EXPECT_EQ(one.attribute_offset, 14);
  EXPECT_EQ(one.record<mad::NodeRecord>().node_info.port_guid.value, subnet.port_guid({2, 1}));
}

TEST(Administrator, AGetIsForOneRecord) {
  SaTree subnet;
  EXPECT_EQ(subnet.client->ask(Method::get, 0, mad::NodeRecord{}).sa(), SaStatus::too_many_records);
  mad::NodeRecord query;
  query.lid = Lid(0x7777);
  EXPECT_EQ(subnet.client->ask(Method::get, mad::component<mad::NodeRecord>("lid"), query).sa(),
            SaStatus::no_records);
  const SaAnswer none = subnet.client->ask(Method::get_table, mad::component<mad::NodeRecord>("lid"), query);
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(none.attribute_offset, 0);
  EXPECT_TRUE(none.records<mad::NodeRecord>().empty());
}

TEST(Administrator, ListsPorts) {
  SaTree subnet;
  const auto all = subnet.client->table<mad::PortInfoRecord>();
  EXPECT_EQ(all.size(), 6U + 5U * 37U);
  mad::PortInfoRecord query;
  query.endport_lid = Lid(subnet.lid_of({subnet.leaves[0], 0}));
  query.port_num = 1;
  const std::uint64_t mask =
      mad::component<mad::PortInfoRecord>("endport_lid") | mad::component<mad::PortInfoRecord>("port_num");
  const SaAnswer one = subnet.client->ask(Method::get, mask, query);
  ASSERT_EQ(one.status, 0);
  const SimPort& port = subnet.at({subnet.leaves[0], 1});
  EXPECT_EQ(mad::encoded(one.record<mad::PortInfoRecord>().port_info), mad::encoded(port.info));

  // Managers' ports: a bit of the capability mask, or the whole mask.
  query.port_info.capability_mask = mad::port_capability::kIsSm;
  const std::uint64_t capability = mad::component<mad::PortInfoRecord>("capability_mask");
  EXPECT_EQ(subnet.client->ask(Method::get_table, capability, query, 0, 1U << 31)
                .records<mad::PortInfoRecord>()
                .size(),
            1U);
  EXPECT_TRUE(subnet.client->table(capability, query).empty());
}

TEST(Administrator, TellsThoseWhoKnowNoExtendedSpeedsOfQdr) {
  SaTree subnet;
  subnet.at({2, 1}).info.link_speed_ext_active = mad::LinkSpeedExt::edr;
  subnet.at({2, 1}).info.link_speed_active = mad::LinkSpeed::extended;
  subnet.manager.request_sweep();
  subnet.run(seconds(1));
  mad::PortInfoRecord query;
  query.endport_lid = Lid(subnet.lid_of({2, 1}));
  const std::uint64_t lid = mad::component<mad::PortInfoRecord>("endport_lid");
  auto told = subnet.client->ask(Method::get, lid, query).record<mad::PortInfoRecord>();
  EXPECT_EQ(told.port_info.link_speed_active, mad::LinkSpeed::qdr);
  query.options = 0x80;
  told = subnet.client->ask(Method::get, lid | mad::component<mad::PortInfoRecord>("options"), query)
             .record<mad::PortInfoRecord>();
  EXPECT_EQ(told.port_info.link_speed_active, mad::LinkSpeed::extended);
}

TEST(Administrator, ListsLinksFromBothEnds) {
  SaTree subnet;
  const auto all = subnet.client->table<mad::LinkRecord>();
  EXPECT_EQ(all.size(), 2U * (6 + 6));
  mad::LinkRecord query;
  query.from_lid = Lid(subnet.lid_of({3, 1}));
  const auto one = subnet.client->table(mad::component<mad::LinkRecord>("from_lid"), query);
  ASSERT_EQ(one.size(), 1U);
  const SimPlace peer = subnet.at({3, 1}).peer;
  EXPECT_EQ(one[0].to_port, peer.port);
  EXPECT_EQ(one[0].to_lid.value, subnet.lid_of({peer.node, 0}));
}

TEST(Administrator, ListsTablesAsSwitchesHaveThem) {
  SaTree subnet;
  EXPECT_EQ(subnet.client->table<mad::SwitchInfoRecord>().size(), 5U);
  const SimNode& leaf = subnet.nodes[static_cast<std::size_t>(subnet.leaves[1])];
  mad::LinearForwardingTableRecord query;
  query.lid = Lid(subnet.lid_of({subnet.leaves[1], 0}));
  const auto blocks = subnet.client->table(mad::component<mad::LinearForwardingTableRecord>("lid"), query);
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_TRUE(std::equal(blocks[0].table.ports.begin(), blocks[0].table.ports.end(), leaf.linear.begin()));
  EXPECT_EQ(subnet.client->table<mad::LinearForwardingTableRecord>().size(), 5U);
  EXPECT_EQ(subnet.client->table<mad::GuidInfoRecord>().size(), 11U);
  EXPECT_EQ(subnet.client->table<mad::SlToVlMappingTableRecord>().size(), 6U + 5U * 37U * 36U);
  EXPECT_FALSE(subnet.client->table<mad::VlArbitrationTableRecord>().empty());
  const auto managers = subnet.client->table<mad::SmInfoRecord>();
  ASSERT_EQ(managers.size(), 1U);
  EXPECT_EQ(managers[0].sm_info.state, mad::SmState::master);
  EXPECT_EQ(managers[0].sm_info.sm_key, 0U);
  EXPECT_EQ(managers[0].lid.value, subnet.lid_of({0, 1}));
}

TEST(Administrator, TellsPKeysToThoseAloneWhoKnowItsKey) {
  SaTree subnet;
  EXPECT_EQ(subnet.client->ask(Method::get_table, 0, mad::PKeyTableRecord{}).sa(), SaStatus::invalid_request);
  const auto all = subnet.client->table<mad::PKeyTableRecord>(0, {}, 1);
  EXPECT_EQ(all.size(), 11U + 6U) << "end ports, and ports of leaves that enforce";
  EXPECT_EQ(all[0].table.p_keys[0], 0xffff);
  EXPECT_FALSE(subnet.client->ask(Method::get_table, 0, mad::PKeyTableRecord{}, 2).came) << "wrong key";
}

TEST(Administrator, RefusesWhatItDoesNotKnow) {
  SaTree subnet;
  const auto bad = static_cast<std::uint16_t>(mad::Status::bad_method_attribute);
  SaClient& client = *subnet.client;
  mad::Mad mad{};
  mad::Header header;
  header.management_class = mad::ManagementClass::subnet_administration;
  header.class_version = 2;
  header.method = Method::get;
  header.attribute = 0x4711;
  header.transaction = ++client.transaction;
  mad::encode_header(header, mad);
  client.send(mad);
  EXPECT_EQ(client.await().status, bad);
  EXPECT_EQ(client.ask(Method::set, 0, mad::NodeRecord{}).status, bad);
  header.class_version = 1;
  header.transaction = ++client.transaction;
  mad::encode_header(header, mad);
  client.send(mad);
  EXPECT_EQ(client.await().status, static_cast<std::uint16_t>(mad::Status::bad_version));
  header.class_version = 2;
  header.method = Method::get_response;
  header.transaction = ++client.transaction;
  mad::encode_header(header, mad);
  client.send(mad);
  EXPECT_FALSE(client.await(seconds(1)).came);
}

// Two administrators, or one that is sent to in its own name, would answer each other without end.
TEST(Administrator, AnswersNothingThatIsNoRequest) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  mad::Mad mad{};
  mad::Header header;
  header.management_class = mad::ManagementClass::subnet_administration;
  header.class_version = 2;
  for (const Method method : {Method::send, Method::trap_repress, Method::get_response}) {
    header.method = method;
    header.transaction = ++client.transaction;
    mad::encode_header(header, mad);
    client.send(mad);
    EXPECT_FALSE(client.await(seconds(1)).came) << mad::name_of(method);
  }
}

TEST(Administrator, SendsLongTablesThroughLoss) {
  SaTree subnet;
  subnet.loss = 0.03;
  subnet.jitter = milliseconds(1);
  int came = 0;
  for (int i = 0; i < 4; ++i) {
    subnet.client->send(Method::get_table, 0, mad::PortInfoRecord{});
    const SaAnswer answer = subnet.client->await(seconds(400));
    EXPECT_TRUE(!answer.came || answer.records<mad::PortInfoRecord>().size() == 6U + 5U * 37U);
    came += answer.came ? 1 : 0;
  }
  EXPECT_GE(came, 2) << "a request itself may be lost";
}

TEST(Administrator, OnePortThatConfirmsNothingKeepsNobodyFromAnswers) {
  SaTree subnet;
  SaClient mute(subnet, {2, 1});
  for (int i = 0; i < 100; ++i) mute.send(Method::get_table, 0, mad::PortInfoRecord{});
  subnet.run(milliseconds(10));
  EXPECT_EQ(subnet.manager.administrator().transfers().size(), SaTransfers::kMostOfPort);
  EXPECT_EQ(subnet.client->table<mad::NodeRecord>().size(), 11U);
  subnet.run(seconds(120));
  EXPECT_EQ(subnet.manager.administrator().transfers().size(), 0U);
}

TEST(Administrator, HidesOtherPartitions) {
  ManagerOptions options;
  const std::uint64_t hidden = 0x100000 + 16 * 2 + 1;  // host 2
  Partition own;
  own.name = "own";
  own.number = 5;
  own.rules.push_back({PortChoice::guid, Guid(hidden), Membership::full});
  options.partitions[0].rules = {{PortChoice::all, {}, Membership::limited},
                                 {PortChoice::all_switches, {}, Membership::full},
                                 {PortChoice::self, {}, Membership::full}};
  options.partitions.push_back(own);
  SaTree subnet(options);
  const auto nodes = subnet.client->table<mad::NodeRecord>();
  for (const auto& record : nodes) EXPECT_NE(record.node_info.port_guid.value, hidden);
  EXPECT_EQ(nodes.size(), 5U + 2U) << "switches, itself, the manager";
  EXPECT_EQ(subnet.at({2, 1}).p_keys[0], 0x7fff);
  EXPECT_EQ(subnet.at({2, 1}).p_keys[1], 0x8005);
}

TEST(Administrator, IsSilentUnlessItsManagerIsMaster) {
  SimTree subnet(2, 1, 2);
  ManagerOptions high;
  high.priority = 3;
  Manager& master = subnet.add_manager({3, 1}, high);
  ASSERT_TRUE(subnet.run_until_up(master));
  Manager& standby = subnet.add_manager({0, 1});
  subnet.run(seconds(20));
  ASSERT_EQ(standby.state(), mad::SmState::standby);
  master.request_sweep();
  subnet.run(seconds(1));
  SaClient client(subnet, {1, 1});
  EXPECT_EQ(client.table<mad::SmInfoRecord>().size(), 2U);
  subnet.at({1, 1}).info.master_sm_lid = Lid(subnet.lid_of({0, 1}));
  client.send(Method::get_table, 0, mad::SmInfoRecord{});
  EXPECT_FALSE(client.await(seconds(1)).came);
}

TEST(Administrator, LivesWithAnyDatagram) {
  SaTree subnet;
  std::mt19937 random(7);
  constexpr std::uint8_t kMethods[] = {1, 2, 6, 0x12, 0x13, 0x14, 0x15, 0x81, 0x86, 0x92};
  constexpr std::uint16_t kAttributes[] = {1,    2,    3,    0x11, 0x12, 0x13, 0x14, 0x15, 0x17, 0x18,
                                           0x20, 0x30, 0x31, 0x33, 0x35, 0x36, 0x38, 0x3a, 0xf3};
  for (int i = 0; i < 20000; ++i) {
    mad::Mad mad{};
    for (std::byte& byte : mad)
      if (random() % 3 == 0) byte = static_cast<std::byte>(random());
    mad[0] = std::byte{1};
    mad[1] = std::byte{3};
    mad[2] = std::byte{2};
    mad[3] = static_cast<std::byte>(kMethods[random() % std::size(kMethods)]);
    store_be16(&mad[16], kAttributes[random() % std::size(kAttributes)]);
    if (random() % 2 == 0) std::fill_n(mad.begin() + mad::kRmppOffset, 20, std::byte{0});
    if (random() % 2 == 0) std::copy_n(subnet.client->gid({3, 1}).raw.begin(), 16, mad.begin() + 56 + 24);
    subnet.client->send(mad);
    if (i % 100 == 0) subnet.run(milliseconds(1));
  }
  subnet.run(seconds(200));
  subnet.client->host.received.clear();
  EXPECT_EQ(subnet.client->table<mad::NodeRecord>().size(), 11U);
}

}  // namespace
}  // namespace softrnic::subnet
