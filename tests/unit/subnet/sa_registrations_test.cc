#include <gtest/gtest.h>

#include "mad/inform_info.h"
#include "mad/sa_service_records.h"
#include "sa_client.h"
#include "subnet/administrator.h"

namespace softrnic::subnet {
namespace {

using namespace testing;
using mad::InformInfo;
using mad::Method;
using mad::SaStatus;
using mad::ServiceRecord;

constexpr std::uint64_t kIdentity =
    mad::component<ServiceRecord>("service_id") | mad::component<ServiceRecord>("service_gid");
constexpr std::uint64_t kLease = mad::component<ServiceRecord>("service_lease");

ServiceRecord service(SaClient& client, std::uint64_t id, std::uint32_t lease = 30) {
  ServiceRecord record;
  record.service_id = id;
  record.service_gid = client.gid(client.at);
  record.service_lease = lease;
  record.service_key[3] = std::byte{7};
  std::string_view("storage").copy(record.service_name.data(), 64);
  record.service_data64[1] = 0x1122334455667788;
  return record;
}

TEST(SaServices, AreKeptUntilTheirLeaseIsOver) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  const SaAnswer made = client.ask(Method::set, kIdentity | kLease, service(client, 5));
  ASSERT_EQ(made.status, 0);
  EXPECT_EQ(made.record<ServiceRecord>().service_p_key, 0xffff);
  ASSERT_EQ(client.ask(Method::set, kIdentity, service(client, 6)).status, 0);
  EXPECT_EQ(client.ask(Method::set, 0, service(client, 7)).sa(), SaStatus::insufficient_components);
  const auto all = client.table<ServiceRecord>();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].service_data64[1], 0x1122334455667788U);
  EXPECT_EQ(all[0].service_key[3], std::byte{0}) << "is for those who know the SA's key";
  EXPECT_EQ(client.table<ServiceRecord>(0, {}, 1)[0].service_key[3], std::byte{7});
  subnet.run(seconds(10));
  EXPECT_LE(client.table<ServiceRecord>()[0].service_lease, 20U);
  subnet.run(seconds(25));
  const auto left = client.table<ServiceRecord>();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].service_id, 6U);
  EXPECT_EQ(left[0].service_lease, 0xffffffffU);
}

TEST(SaServices, AreFoundByAnyComponentAndDeleted) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  for (std::uint64_t id = 1; id <= 4; ++id)
    ASSERT_EQ(client.ask(Method::set, kIdentity, service(client, id)).status, 0);
  ServiceRecord query = service(client, 3);
  EXPECT_EQ(client.table(mad::component<ServiceRecord>("service_name"), query).size(), 4U);
  EXPECT_EQ(client.table(mad::component<ServiceRecord>("service_id"), query).size(), 1U);
  EXPECT_EQ(client.ask(Method::delete_record, kIdentity, query).method, Method::delete_response);
  EXPECT_EQ(client.ask(Method::delete_record, kIdentity, query).sa(), SaStatus::no_records);
  EXPECT_EQ(client.table<ServiceRecord>().size(), 3U);
  query.service_p_key = 0x8077;
  EXPECT_EQ(client.ask(Method::set, kIdentity | mad::component<ServiceRecord>("service_p_key"), query).sa(),
            SaStatus::invalid_request)
      << "not its partition";
}

InformInfo subscription(std::uint16_t trap = InformInfo::kAllTraps) {
  InformInfo info;
  info.lid_range_begin = Lid(0xffff);
  info.subscribe = 1;
  info.trap_number = trap;
  return info;
}

TEST(SaSubscriptions, TellOfPortsThatComeAndGo) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  ASSERT_EQ(client.ask(Method::set, 0, subscription()).status, 0);
  const int host = subnet.add_host(0x777700);
  subnet.cable(subnet.leaves[2], host);
  client.listen(seconds(11));
  ASSERT_EQ(client.reports.size(), 1U);
  EXPECT_EQ(client.report(0).trap_number, 64);
  EXPECT_EQ(client.report(0).details_as<mad::GidDetails>().gid, client.gid({host, 1}));
  EXPECT_EQ(client.report(0).issuer_gid, client.gid({0, 1}));
  subnet.kill(host);
  client.listen(seconds(20));
  ASSERT_EQ(client.reports.size(), 2U) << "each once, as they are confirmed";
  EXPECT_EQ(client.report(1).trap_number, 65);
}

TEST(SaSubscriptions, TellOfGroupsAndOfTraps) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  ASSERT_EQ(client.ask(Method::set, 0, subscription(66)).status, 0);
  ASSERT_EQ(client.ask(Method::set, 0, subscription(128)).status, 0);
  mad::McMemberRecord group;
  group.port_gid = client.gid({1, 1});
  group.p_key = 0xffff;
  group.join_state = mad::join_state::kFullMember;
  const std::uint64_t all = ~std::uint64_t{0} & ~(mad::component<mad::McMemberRecord>("mtu") |
                                                  mad::component<mad::McMemberRecord>("rate") |
                                                  mad::component<mad::McMemberRecord>("packet_life_time"));
  ASSERT_EQ(client.ask(Method::set, all, group).status, 0);
  mad::Notice notice;
  notice.type = mad::NoticeType::urgent;
  notice.trap_number = 128;
  notice.producer_type = 2;
  notice.issuer_lid = Lid(subnet.lid_of({subnet.leaves[0], 0}));
  subnet.trap({subnet.leaves[0], 0}, notice);
  notice.trap_number = 129;
  subnet.trap({subnet.leaves[0], 0}, notice);
  client.listen(seconds(1));
  ASSERT_EQ(client.reports.size(), 2U);
  EXPECT_EQ(client.report(0).trap_number, 66);
  EXPECT_EQ(client.report(1).trap_number, 128);
  EXPECT_EQ(client.report(1).issuer_gid, client.gid({subnet.leaves[0], 0}));
}

TEST(SaSubscriptions, ReportsComeAgainUntilTheyAreConfirmedOrGivenUp) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  ASSERT_EQ(client.ask(Method::set, 0, subscription(64)).status, 0);
  client.confirms = false;
  const int host = subnet.add_host(0x777700);
  subnet.cable(subnet.leaves[2], host);
  subnet.run(seconds(11));
  client.listen(seconds(30));
  EXPECT_EQ(client.reports.size(), 1U + Subscriptions::kRetries);
}

TEST(SaSubscriptions, EndWhenTheyAreTakenBack) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  ASSERT_EQ(client.ask(Method::set, 0, subscription(64)).status, 0);
  ASSERT_EQ(client.ask(Method::set, 0, subscription(64)).status, 0);
  EXPECT_EQ(subnet.manager.administrator().subscriptions().size(), 1U) << "the same";
  ASSERT_EQ(client.ask(Method::set, 0, subscription(65)).status, 0);
  const auto records = client.table<mad::InformInfoRecord>();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].subscriber_gid, client.gid({1, 1}));
  EXPECT_EQ(records[0].inform_info.qpn.value, 0U);
  EXPECT_NE(records[0].enumeration, records[1].enumeration);
  EXPECT_EQ(client.table<mad::InformInfoRecord>(0, {}, 1)[0].inform_info.qpn.value, 1U);
  InformInfo back = subscription(64);
  back.subscribe = 0;
  EXPECT_EQ(client.ask(Method::set, 0, back).status, 0);
  EXPECT_EQ(client.ask(Method::set, 0, back).sa(), SaStatus::invalid_request);
  EXPECT_EQ(subnet.manager.administrator().subscriptions().size(), 1U);
  subnet.kill(1);
  subnet.run(seconds(15));
  EXPECT_EQ(subnet.manager.administrator().subscriptions().size(), 0U);
}

TEST(SaSubscriptions, AreRefusedWhereTheyMayNotHear) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  InformInfo info = subscription();
  info.subscribe = 2;
  EXPECT_EQ(client.ask(Method::set, 0, info).sa(), SaStatus::invalid_request);
  info = subscription(256);
  EXPECT_EQ(client.ask(Method::set, 0, info).sa(), SaStatus::invalid_request) << "security traps";
  EXPECT_EQ(client.ask(Method::set, 0, info, 1).status, 0);
  info = subscription();
  info.lid_range_begin = Lid(0x5000);
  info.lid_range_end = Lid(0xfffe);
  EXPECT_EQ(client.ask(Method::set, 0, info).sa(), SaStatus::invalid_request);
  info.lid_range_begin = Lid(1);
  EXPECT_EQ(client.ask(Method::set, 0, info).status, 0);
}

TEST(SaRegistrations, AreForgottenWhenAnotherIsMaster) {
  SaTree subnet;
  SaClient& client = *subnet.client;
  ASSERT_EQ(client.ask(Method::set, 0, subscription()).status, 0);
  ASSERT_EQ(client.ask(Method::set, kIdentity, service(client, 1)).status, 0);
  ManagerOptions high;
  high.priority = 7;
  Manager& other = subnet.add_manager({5, 1}, high);
  subnet.manager.request_sweep();
  subnet.run(seconds(60));
  ASSERT_EQ(other.state(), mad::SmState::master);
  EXPECT_EQ(subnet.manager.administrator().subscriptions().size(), 0U);
  EXPECT_EQ(subnet.manager.administrator().services().size(), 0U);
  EXPECT_EQ(subnet.reregistered[(SimPlace{1, 1})], 2);
  EXPECT_EQ(client.ask(Method::set, 0, subscription()).status, 0) << "at the new one";
}

}  // namespace
}  // namespace softrnic::subnet
