// Two clients of one daemon, who connect to each other through its connection manager, and what they may not
// do.
#include "daemon/cm_service.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <deque>

#include "base/reason_id.h"

namespace softrnic::daemon {
namespace {

using namespace control;

sockaddr_storage ipv4(const char* text, std::uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  inet_pton(AF_INET, text, &in.sin_addr);
  sockaddr_storage storage{};
  std::memcpy(&storage, &in, sizeof in);
  return storage;
}

class CmServiceTest : public ::testing::Test {
 protected:
  struct Program {
    Connection connection;
    UniqueFd events{eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC)};
    std::uint32_t channel = 0;
  };

  void SetUp() override {
    service.send_mad = [this](const mad::Address& to, Bytes mad) {
      under_way.push_back({to, {mad.begin(), mad.end()}});
    };
    service.find_route = [this](cma::IdNumber id, const cma::RouteQuery& query) {
      service.route_found(id, cma::Route{query.destination, 2, 64});
    };
    device::DeviceInfo device;
    device.index = 1;
    device.name = "soft0";
    device.guid = 5;
    device.port.up = true;
    device.port.gids.push_back({own, 2});
    service.devices_changed({device});
    for (Program* program : {&server, &client}) {
      program->connection.greeted = true;
      program->connection.pid = program == &server ? 100 : 200;
      program->connection.comm = program == &server ? "server" : "client";
      program->channel =
          ask<CmChannelReply>(*program, make_message<CmOpenChannel>(), dup(program->events.get())).channel;
    }
  }

  /// What `program` is answered; the test fails when it is not a Reply.
  template <typename Reply, typename Request>
  Reply ask(Program& program, const Request& request, int fd = -1) {
    UniqueFd along(fd);
    const auto answer = service.handle(program.connection, bytes_of(request), along);
    EXPECT_TRUE(answer);
    const auto reply = parse_message<Reply>(answer->bytes);
    EXPECT_TRUE(reply) << "answered with type " << static_cast<int>(peek_header(answer->bytes)->type);
    return reply.value_or(Reply{});
  }
  CmNumber make_id(Program& program, std::uint64_t cookie) {
    auto create = make_message<CmCreateId>();
    create.channel = program.channel;
    create.cookie = cookie;
    create.port_space = RDMA_PS_TCP;
    return ask<CmIdReply>(program, create).id;
  }
  template <typename T>
  T about(CmNumber id) {
    auto message = make_message<T>();
    message.id = id;
    return message;
  }
  void deliver() {
    while (!under_way.empty()) {
      auto [address, mad] = std::move(under_way.front());
      under_way.pop_front();
      std::swap(address.local, address.remote);
      std::swap(address.local_lid, address.remote_lid);
      service.receive(address, mad);
    }
  }
  /// The next event, which the channel's counter must have announced.
  CmEventReply event(Program& program) {
    deliver();
    std::uint64_t count = 0;
    EXPECT_EQ(read(program.events.get(), &count, sizeof count), static_cast<ssize_t>(sizeof count));
    auto next = make_message<CmGetEvent>();
    next.channel = program.channel;
    return ask<CmEventReply>(program, next);
  }
  void expect(Program& program, rdma_cm_event_type kind) {
    const CmEventReply got = event(program);
    EXPECT_EQ(got.present, 1U);
    EXPECT_EQ(got.event, unsigned{kind});
    EXPECT_EQ(got.status, 0);
  }
  void connect() {
    listener = make_id(server, 11);
    auto bind = about<CmBind>(listener);
    bind.address = ipv4("0.0.0.0", 7174);
    EXPECT_EQ(
        ntohs(reinterpret_cast<const sockaddr_in&>(ask<CmIdReply>(server, bind).record.source).sin_port),
        7174);
    ask<Done>(server, about<CmListen>(listener));
    active = make_id(client, 22);
    auto resolve = about<CmResolveAddress>(active);
    resolve.destination = ipv4("10.0.0.1", 7174);
    ask<Done>(client, resolve);
    expect(client, RDMA_CM_EVENT_ADDR_RESOLVED);
    ask<Done>(client, about<CmResolveRoute>(active));
    expect(client, RDMA_CM_EVENT_ROUTE_RESOLVED);
    auto request = about<CmConnect>(active);
    request.parameters.valid = 1;
    request.parameters.qpn = 0x222;
    request.parameters.private_data_length = 3;
    std::memcpy(request.parameters.private_data, "abc", 3);
    ask<Done>(client, request);
    const CmEventReply asked = event(server);
    EXPECT_EQ(asked.event, unsigned{RDMA_CM_EVENT_CONNECT_REQUEST});
    EXPECT_EQ(asked.cookie, 11U);
    EXPECT_EQ(asked.parameters.private_data_length, 56);
    EXPECT_EQ(std::memcmp(asked.parameters.private_data, "abc", 4), 0);
    EXPECT_EQ(asked.record.device_index, 1U);
    passive = asked.id;
    auto accept = about<CmAccept>(passive);
    accept.cookie = 33;
    accept.parameters.valid = 1;
    accept.parameters.qpn = 0x111;
    EXPECT_EQ(ask<CmAcceptReply>(server, accept).stream.token, 0U);
    expect(client, RDMA_CM_EVENT_CONNECT_RESPONSE);
    ask<CmAcceptReply>(client, about<CmAccept>(active));
    expect(server, RDMA_CM_EVENT_ESTABLISHED);
  }

  const wire::Gid own = wire::Gid::from_ipv4_be(htonl(0x0a000001));
  CmService service;
  std::deque<std::pair<mad::Address, std::vector<std::byte>>> under_way;
  Program server, client;
  CmNumber listener = 0, active = 0, passive = 0;
};

TEST_F(CmServiceTest, TwoProgramsConnectAndPart) {
  connect();
  ask<Done>(client, about<CmDisconnect>(active));
  expect(client, RDMA_CM_EVENT_DISCONNECTED);
  expect(server, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(ask<CmEventsReply>(client, about<CmDestroyId>(active)).fetched, 4U);
}

TEST_F(CmServiceTest, APatientEndLeavesTheIdUntilItsEventsAreFetched) {
  connect();
  ask<Done>(client, about<CmDisconnect>(active));
  expect(server, RDMA_CM_EVENT_DISCONNECTED);
  auto patient = about<CmDestroyId>(active);
  patient.patient = 1;
  EXPECT_EQ(ask<CmEventsReply>(client, patient).waiting, 1U);
  auto late = about<CmWriteEvent>(active);
  late.event = RDMA_CM_EVENT_TIMEWAIT_EXIT + 1;
  ask<Done>(client, late);
  expect(client, RDMA_CM_EVENT_DISCONNECTED);
  const auto ended = ask<CmEventsReply>(client, patient);
  EXPECT_EQ(ended.waiting, 0U) << "what came since is not queued";
  EXPECT_EQ(ended.fetched, 4U);
  EXPECT_EQ(ask<ErrorReply>(client, patient).error, ENOENT);
}

TEST_F(CmServiceTest, TellsHowManyEventsOfTheChannelWereWithdrawn) {
  const CmNumber ids[] = {make_id(client, 0), make_id(client, 1), make_id(client, 2)};
  for (const CmNumber id : ids) {
    auto resolve = about<CmResolveAddress>(id);
    resolve.destination = ipv4("10.0.0.1", 7174);
    ask<Done>(client, resolve);
  }
  EXPECT_EQ(ask<CmEventsReply>(client, about<CmDestroyId>(ids[0])).withdrawn, 1U);
  auto migrate = about<CmMigrateId>(ids[1]);
  migrate.channel =
      ask<CmChannelReply>(client, make_message<CmOpenChannel>(), dup(server.events.get())).channel;
  EXPECT_EQ(ask<CmEventsReply>(client, migrate).withdrawn, 2U);
  EXPECT_EQ(ask<CmEventsReply>(client, about<CmDestroyId>(ids[1])).withdrawn, 1U) << "there";
  const CmEventReply left = event(client), none = event(client);
  EXPECT_EQ(left.cookie, 2U);
  EXPECT_EQ(left.withdrawn, 2U);
  EXPECT_EQ(none.present, 0U) << "the client takes from the count";
  EXPECT_EQ(none.withdrawn, 2U);
}

TEST_F(CmServiceTest, WhatAProgramLeavesBehindEnds) {
  connect();
  EXPECT_FALSE(service.idle());
  service.release(client.connection);
  expect(server, RDMA_CM_EVENT_DISCONNECTED);
  service.release(server.connection);
  EXPECT_TRUE(service.idle());
}

TEST_F(CmServiceTest, IdsOfOthersDoNotExist) {
  connect();
  EXPECT_EQ(ask<ErrorReply>(client, about<CmDestroyId>(listener)).error, ENOENT);
  EXPECT_EQ(ask<ErrorReply>(client, about<CmQueryId>(passive)).error, ENOENT);
  auto next = make_message<CmGetEvent>();
  next.channel = server.channel;
  EXPECT_EQ(ask<ErrorReply>(client, next).error, EINVAL);
  auto migrate = about<CmMigrateId>(active);
  migrate.channel = server.channel;
  EXPECT_EQ(ask<ErrorReply>(client, migrate).error, EINVAL);
}

TEST_F(CmServiceTest, EventsThatAProgramWritesComeBackToIt) {
  auto write = about<CmWriteEvent>(make_id(client, 22));
  write.event = 18;  // RDMA_CM_EVENT_USER
  write.status = -7;
  write.argument = 0x0123'4567'89ab'cdef;
  EXPECT_EQ(ask<ErrorReply>(server, write).error, ENOENT) << "another's id";
  ask<Done>(client, write);
  const CmEventReply got = event(client);
  EXPECT_EQ(got.event, 18U);
  EXPECT_EQ(got.status, -7);
  EXPECT_EQ(got.argument, 0x0123'4567'89ab'cdefU);
  EXPECT_EQ(got.cookie, 22U);
}

TEST_F(CmServiceTest, AChannelIsAnEventfd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd other(ends[0]);
  EXPECT_EQ(ask<ErrorReply>(client, make_message<CmOpenChannel>(), ends[1]).error, EINVAL);
  EXPECT_EQ(ask<ErrorReply>(client, make_message<CmOpenChannel>()).error, EINVAL);
}

TEST_F(CmServiceTest, AFullCounterDoesNotStopTheDaemon) {
  const UniqueFd full(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC));  // blocks
  const std::uint64_t most = UINT64_MAX - 1;
  ASSERT_EQ(write(full.get(), &most, sizeof most), static_cast<ssize_t>(sizeof most));
  client.channel = ask<CmChannelReply>(client, make_message<CmOpenChannel>(), dup(full.get())).channel;
  auto resolve = about<CmResolveAddress>(make_id(client, 1));
  resolve.destination = ipv4("10.0.0.1", 1);
  ask<Done>(client, resolve);
  auto next = make_message<CmGetEvent>();
  next.channel = client.channel;
  EXPECT_EQ(ask<CmEventReply>(client, next).present, 1U);
}

TEST_F(CmServiceTest, TheListShowsIdsOfAllPrograms) {
  connect();
  std::vector<CmIdListing> ids;
  auto next = make_message<CmNextId>();
  for (;;) {
    const auto id = ask<CmIdListing>(client, next);
    if (id.key == 0) break;
    next.after = id.key;
    ids.push_back(id);
  }
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_STREQ(ids[0].state, "LISTEN");
  EXPECT_EQ(ids[0].pid, 100);
  EXPECT_STREQ(ids[0].device, "");
  EXPECT_STREQ(ids[1].state, "CONNECT");
  EXPECT_STREQ(ids[1].comm, "client");
  EXPECT_STREQ(ids[1].device, "soft0");
  EXPECT_EQ(ids[1].local_qpn, 0x222U);
  EXPECT_EQ(ids[1].remote_qpn, 0x111U);
  EXPECT_EQ(ids[2].local_qpn, 0x111U);
}

// ---- InfiniBand

/// The host's device is a port with LID 0x10, whose IPoIB interface has 10.0.0.1.
class InfinibandService : public CmServiceTest {
 protected:
  void SetUp() override {
    CmServiceTest::SetUp();
    gid.raw[0] = std::byte{0xfe};
    gid.raw[1] = std::byte{0x80};
    gid.raw[15] = std::byte{5};
    device::DeviceInfo device;
    device.kind = device::Kind::infiniband;
    device.index = 1;
    device.interface_index = 1;
    device.guid = 5;
    device.port.up = true;
    device.port.active_mtu = 4096;
    device.port.gids = {{gid, 1}};
    device.port.addresses = {{own, 1}};
    device.port.infiniband.lid = wire::Lid(0x10);
    device.port.infiniband.pkeys = {0xffff};
    service.devices_changed({device});
    service.find_route = [this](cma::IdNumber id, const cma::RouteQuery& query) {
      service.route_found(id, cma::Route{query.destination, 1, 64, gid});
    };
    service.is_port_of = [this](const wire::Gid& port, const wire::Gid& address) {
      return port == gid && address == own;
    };
  }
  void have_a_subnet_administrator() {
    service.ask_for_path = [this](cma::IdNumber id, const cma::PathQuery& query) {
      cma::PathRecord record;
      record.source_lid = record.destination_lid = wire::Lid(0x10);
      record.pkey = query.pkey;
      record.sl = 3;
      record.mtu = IBV_MTU_2048;
      record.rate = IBV_RATE_40_GBPS;
      service.path_found(id, record);
    };
    service.ask_for_group = [this](cma::MembershipNumber membership, const cma::GroupQuery& query) {
      cma::GroupRecord record;
      record.group = query.group;
      record.lid = wire::Lid(0xc001);
      record.qkey = query.qkey;
      record.pkey = query.pkey;
      service.group_joined(membership, record);
    };
    service.forget_group = [this](cma::MembershipNumber membership) { left.push_back(membership); };
  }
  CmNumber resolved(std::uint16_t space) {
    auto create = make_message<CmCreateId>();
    create.channel = client.channel;
    create.port_space = space;
    create.qp_type = space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
    const CmNumber id = ask<CmIdReply>(client, create).id;
    auto resolve = about<CmResolveAddress>(id);
    resolve.destination = ipv4("10.0.0.1", 7174);
    ask<Done>(client, resolve);
    expect(client, RDMA_CM_EVENT_ADDR_RESOLVED);
    return id;
  }
  CmJoinMulticast join(CmNumber id) {
    auto message = about<CmJoinMulticast>(id);
    message.flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
    message.address = ipv4("239.1.1.1", 0);
    return message;
  }

  wire::Gid gid;
  std::vector<cma::MembershipNumber> left;
};

TEST_F(InfinibandService, ProgramsConnectAndAreToldLids) {
  have_a_subnet_administrator();
  connect();
  const CmIdRecord record = ask<CmIdReply>(client, about<CmQueryId>(active)).record;
  EXPECT_EQ(record.slid, 0x10);
  EXPECT_EQ(record.dlid, 0x10);
  EXPECT_EQ(record.pkey, 0xffff);
  EXPECT_EQ(std::memcmp(record.source_gid, gid.raw.data(), sizeof record.source_gid), 0);
  EXPECT_EQ(reinterpret_cast<const sockaddr_in&>(record.source).sin_addr.s_addr, htonl(0x0a000001));
  auto ready = about<CmInitQpAttributes>(passive);
  ready.state = IBV_QPS_RTR;
  const auto attributes = ask<CmQpAttributesReply>(server, ready);
  EXPECT_EQ(attributes.address.lid, 0x10);
  EXPECT_EQ(attributes.address.sl, 3);
  EXPECT_EQ(attributes.address.static_rate, IBV_RATE_40_GBPS);
  EXPECT_EQ(attributes.address.is_global, 0);
}

TEST_F(InfinibandService, GroupsAreJoinedAndLeft) {
  have_a_subnet_administrator();
  const CmNumber id = resolved(RDMA_PS_UDP);
  const CmNumber membership = ask<CmIdReply>(client, join(id)).id;
  const CmEventReply joined = event(client);
  EXPECT_EQ(joined.event, unsigned{RDMA_CM_EVENT_MULTICAST_JOIN});
  EXPECT_EQ(joined.membership, membership);
  EXPECT_EQ(joined.address.lid, 0xc001);
  EXPECT_EQ(joined.address.is_global, 1);
  service.release(client.connection);
  EXPECT_EQ(left, std::vector{membership});
}

TEST_F(InfinibandService, WithoutASubnetAdministratorThereAreNoPathsAndNoGroups) {
  const CmNumber id = resolved(RDMA_PS_UDP);
  ask<Done>(client, about<CmResolveRoute>(id));
  const CmEventReply route = event(client);
  EXPECT_EQ(route.event, unsigned{RDMA_CM_EVENT_ROUTE_ERROR});
  EXPECT_EQ(route.status, -ENETUNREACH);
  EXPECT_EQ(route.reason, static_cast<std::uint32_t>(ReasonId::cma_no_subnet_administrator));
  ask<CmIdReply>(client, join(id));
  const CmEventReply group = event(client);
  EXPECT_EQ(group.event, unsigned{RDMA_CM_EVENT_MULTICAST_ERROR});
  EXPECT_EQ(group.status, -ENETUNREACH);
}

}  // namespace
}  // namespace softrnic::daemon
