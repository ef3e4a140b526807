// What a subnet administrator is asked, and what is believed of its answers.
#include "base/reason_id.h"
#include "tests/unit/cma/infiniband_ports.h"

namespace softrnic::cma {
namespace {

// ---- the question

TEST_F(InfinibandPorts, TheQuestionIsLinuxs) {
  const IdNumber id = client.make_id();
  const std::byte tos[] = {std::byte{0x28}};
  ASSERT_TRUE(client.manager.set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, tos));
  ASSERT_TRUE(client.manager.resolve_address(id, {}, address("10.0.0.1", kPort), kTimeout));
  ASSERT_TRUE(client.manager.resolve_route(id, kTimeout));
  ASSERT_EQ(client.path_queries.size(), 1U);
  const PathQuery& query = client.path_queries[0];
  EXPECT_EQ(query.source, gid_of(client));
  EXPECT_EQ(query.destination, gid_of(server));
  EXPECT_EQ(query.port, 1U);
  EXPECT_EQ(query.pkey, 0xffff);
  EXPECT_EQ(query.service_id, 0x01060000U + kPort);
  EXPECT_EQ(query.qos_class, 0x28);
  EXPECT_FALSE(query.traffic_class);
  EXPECT_EQ(query.deadline, network.now + kTimeout);
}

TEST_F(InfinibandPorts, OfIpv6TheTrafficClassIsInTheFlowInformationOfTheSource) {
  SocketAddress from = address("fd00::2");
  from.flow_info = 0x0ab12345;
  const IdNumber id = client.make_id();
  ASSERT_TRUE(client.manager.resolve_address(id, from, address("fd00::1", kPort), kTimeout));
  ASSERT_TRUE(client.manager.resolve_route(id, kTimeout));
  ASSERT_EQ(client.path_queries.size(), 1U);
  EXPECT_EQ(client.path_queries[0].traffic_class, 0xab);
  EXPECT_FALSE(client.path_queries[0].qos_class);
}

TEST_F(InfinibandPorts, AnAnswerMayTakeItsTimeAndComesOnce) {
  network.path_of = [](const PathQuery&) { return std::nullopt; };
  const IdNumber id = resolved();
  ASSERT_TRUE(client.manager.resolve_route(id, kTimeout));
  EXPECT_EQ(state(client, id), State::route_query);
  EXPECT_EQ(error_of(client.manager.resolve_route(id, kTimeout)), EINVAL) << "it is asked";
  EXPECT_FALSE(client.manager.next_event(client.channel));
  client.manager.path_found(id, network.known_path(client.path_queries[0]));
  client.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  client.manager.path_found(id, Unexpected{refuse(ETIMEDOUT, ReasonId::cma_no_port_there)});
  EXPECT_EQ(state(client, id), State::route_resolved);
  EXPECT_FALSE(client.manager.next_event(client.channel));
  client.manager.path_found(id + 77, network.known_path(client.path_queries[0]));
}

TEST_F(InfinibandPorts, WithoutAPathTheProgramMayAskAgain) {
  for (const int error : {ENETUNREACH, ETIMEDOUT}) {
    const IdNumber id = resolved();
    network.path_of = [error](const PathQuery&) -> std::optional<PathAnswer> {
      return Unexpected{refuse(error, ReasonId::cma_no_port_there)};
    };
    ASSERT_TRUE(client.manager.resolve_route(id, kTimeout));
    const Event event = client.expect(RDMA_CM_EVENT_ROUTE_ERROR);
    EXPECT_EQ(event.status, -error);
    EXPECT_EQ(event.reason.id, ReasonId::cma_no_port_there);
    EXPECT_EQ(state(client, id), State::address_resolved);
    EXPECT_EQ(error_of(client.manager.connect(id, {.qpn = 1}, {})), EINVAL);
    network.path_of = [this](const PathQuery& query) { return network.known_path(query); };
    ASSERT_TRUE(client.manager.resolve_route(id, kTimeout));
    client.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  }
}

TEST_F(InfinibandPorts, AQuestionEndsWithItsIdOrItsDevice) {
  network.path_of = [](const PathQuery&) { return std::nullopt; };
  const IdNumber ended = resolved(), removed = resolved();
  for (const IdNumber id : {ended, removed}) ASSERT_TRUE(client.manager.resolve_route(id, kTimeout));
  ASSERT_TRUE(client.manager.destroy(ended));
  EXPECT_EQ(client.cancelled, std::vector{ended});
  client.manager.path_found(ended, network.known_path(client.path_queries[0]));
  client.manager.devices_changed({});
  EXPECT_EQ(client.cancelled, (std::vector{ended, removed}));
  client.expect(RDMA_CM_EVENT_DEVICE_REMOVAL);
  client.manager.path_found(removed, network.known_path(client.path_queries[1]));
  EXPECT_FALSE(client.manager.next_event(client.channel));
}

TEST_F(InfinibandPorts, AnAddressWithoutAPortBehindItIsUnreachable) {
  const IdNumber id = client.make_id();
  for (const char* gid : {"::", "ff12::1"}) {
    // what the host's table says of 10.0.0.1
    network.nodes.at(address("10.0.0.1").host)->device.port.gids[0].gid = address(gid).host;
    ASSERT_TRUE(client.manager.resolve_address(id, {}, address("10.0.0.1", kPort), kTimeout));
    EXPECT_EQ(client.expect(RDMA_CM_EVENT_ADDR_ERROR).status, -EHOSTUNREACH) << gid;
    EXPECT_FALSE(client.manager.view(id)->binding) << "it may go from another device";
  }
}

// ---- answers that make no sense

struct Nonsense {
  const char* name;
  void (*spoil)(PathRecord& record);
};
constexpr Nonsense kNonsense[] = {
    {"ForeignSource", [](PathRecord& r) { r.source_lid = wire::Lid(0x21); }},
    {"NoDestination", [](PathRecord& r) { r.destination_lid = wire::kReservedLid; }},
    {"GroupForAPort", [](PathRecord& r) { r.destination_lid = wire::Lid(0xc001); }},
    {"Permissive", [](PathRecord& r) { r.destination_lid = wire::kPermissiveLid; }},
    {"NoMtu", [](PathRecord& r) { r.mtu = 0; }},
    {"MtuOfNobody", [](PathRecord& r) { r.mtu = 6; }},
    {"ForeignPartition", [](PathRecord& r) { r.pkey = 0x8002; }},
    {"OtherPartition", [](PathRecord& r) { r.pkey = 0x8001; }},
    {"Sl", [](PathRecord& r) { r.sl = 16; }},
    {"Rate", [](PathRecord& r) { r.rate = 64; }},
    {"LifeTime", [](PathRecord& r) { r.packet_life_time = 32; }},
    {"FlowLabel", [](PathRecord& r) { r.flow_label = 1U << 20; }},
};

class HostilePathRecord : public InfinibandPorts, public ::testing::WithParamInterface<Nonsense> {};

TEST_P(HostilePathRecord, IsARouteError) {
  network.path_of = [this](const PathQuery& query) {
    PathAnswer answer = network.known_path(query);
    GetParam().spoil(*answer);
    return std::optional(answer);
  };
  const IdNumber id = resolved();
  ASSERT_TRUE(client.manager.resolve_route(id, kTimeout));
  const Event event = client.expect(RDMA_CM_EVENT_ROUTE_ERROR);
  EXPECT_EQ(event.status, -EINVAL);
  EXPECT_EQ(event.reason.id, ReasonId::cma_path_record);
  EXPECT_FALSE(client.manager.view(id)->has_path);
}

INSTANTIATE_TEST_SUITE_P(Each, HostilePathRecord, ::testing::ValuesIn(kNonsense),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_F(InfinibandPorts, APortHasAsManyLidsAsItsLmcSays) {
  client.device.port.infiniband.lmc = 2;
  client.manager.devices_changed({client.device});
  const auto source = [this](std::uint16_t lid) {
    network.path_of = [this, lid](const PathQuery& query) {
      PathAnswer answer = network.known_path(query);
      answer->source_lid = wire::Lid(lid);
      return std::optional(answer);
    };
    const IdNumber id = resolved();
    EXPECT_TRUE(client.manager.resolve_route(id, kTimeout));
    const auto event = client.manager.next_event(client.channel);
    return event && event->kind == RDMA_CM_EVENT_ROUTE_RESOLVED;
  };
  EXPECT_TRUE(source(0x20));
  EXPECT_TRUE(source(0x23));
  EXPECT_FALSE(source(0x24));
  EXPECT_FALSE(source(0x1f));
}

}  // namespace
}  // namespace softrnic::cma
