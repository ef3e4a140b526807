// From an address to a path, with a host whose answers the test gives.
#include "cma/resolution.h"

#include "base/reason_id.h"
#include "tests/support/cm_host.h"
#include "tests/unit/cma/asked.h"
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

class ResolutionTest : public ::testing::Test {
 protected:
  ResolutionTest() {
    devices.set({device_with({"10.0.0.1", "10.0.0.2"})});
    events.attach(id, channel);
  }
  void resolve(const SocketAddress& to, const SocketAddress& from = {}) {
    ASSERT_TRUE(resolution.resolve_address(id, from, to, std::chrono::seconds(2)));
  }
  void expect_event(std::uint32_t kind, int status = 0) {
    const auto event = events.fetch(channel);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, kind);
    EXPECT_EQ(event->status, status);
  }

  Asked host;
  testing::CmHost cm_host;
  cm::Manager cm{cm_host, 1};
  IdTable ids;
  DeviceTable devices;
  IdEvents events{ids, [](ChannelNumber) {}};
  ChannelNumber channel = events.open_channel();
  BoundPorts ports{cm, ids, devices};
  Resolution resolution{host, devices, ports, events};
  Id& id = ids.add(PortSpace::tcp, IBV_QPT_RC, 0);
};

TEST_F(ResolutionTest, AsksTheHostAndTakesItsAnswerOnce) {
  resolve(address("10.0.0.9", 7));
  EXPECT_EQ(id.state, State::address_query);
  ASSERT_EQ(host.queries.size(), 1U);
  EXPECT_EQ(host.queries[0].first, id.number);
  EXPECT_TRUE(host.queries[0].second.source.is_zero());
  EXPECT_EQ(host.queries[0].second.deadline, host.now() + std::chrono::seconds(2));
  resolution.answered(id, Route{address("10.0.0.2").host, 2, 9});
  expect_event(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(id.binding.gid_index, 1);
  EXPECT_EQ(id.source.host, address("10.0.0.2").host);
  EXPECT_EQ(id.hop_limit, 9);
  resolution.answered(id, Unexpected{refuse(ETIMEDOUT, ReasonId::no_neighbour, 2)});
  EXPECT_EQ(id.state, State::address_resolved) << "a late answer";
}

TEST_F(ResolutionTest, AFailureLeavesTheIdBound) {
  resolve(address("10.0.0.9", 7));
  resolution.answered(id, Unexpected{refuse(EHOSTUNREACH, ReasonId::no_neighbour, 2)});
  expect_event(RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
  EXPECT_EQ(id.state, State::address_bound);
  resolve(address("10.0.0.9", 7));
  resolution.answered(id, Route{address("10.0.0.77").host, 2, 64});
  expect_event(RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
}

TEST_F(ResolutionTest, OnlyAQuestionThatIsOpenIsTakenBack) {
  resolution.cancel(id);
  EXPECT_TRUE(host.cancelled.empty());
  resolve(address("10.0.0.9", 7));
  resolution.cancel(id);
  EXPECT_EQ(host.cancelled, std::vector{id.number});
}

TEST_F(ResolutionTest, LoopbackNeedsNoAnswer) {
  resolve(address("127.0.0.1", 7));
  EXPECT_TRUE(host.queries.empty());
  expect_event(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(id.destination_gid, address("10.0.0.1").host);
  EXPECT_EQ(id.source.host, address("127.0.0.1").host);
}

TEST_F(ResolutionTest, ABoundIdGoesFromWhereItIs) {
  resolve(address("10.0.0.9", 7), address("10.0.0.2", 5));
  EXPECT_EQ(id.source.port, 5);
  ASSERT_EQ(host.queries.size(), 1U);
  EXPECT_EQ(host.queries[0].second.source, address("10.0.0.2").host);
  EXPECT_EQ(host.queries[0].second.interface_index, 2U);
}

TEST_F(ResolutionTest, RefusesWhatIsUnclear) {
  const Duration any = std::chrono::seconds(1);
  EXPECT_EQ(error_of(resolution.resolve_address(id, {}, {}, any)), EAFNOSUPPORT);
  EXPECT_EQ(error_of(resolution.resolve_address(id, {}, address("fe80::9", 1), any)), EINVAL);
  EXPECT_EQ(error_of(resolution.resolve_address(id, address("fd00::1"), address("10.0.0.9"), any)), EINVAL);
  EXPECT_EQ(id.state, State::idle);
  EXPECT_FALSE(id.port);
}

TEST_F(ResolutionTest, TheRouteFollowsWhileTheDeviceIsThere) {
  resolve(address("127.0.0.1", 7));
  expect_event(RDMA_CM_EVENT_ADDR_RESOLVED);
  ASSERT_TRUE(resolution.resolve_route(id, std::chrono::seconds(2)));
  expect_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_TRUE(id.has_path);
  EXPECT_EQ(id.path.mtu, IBV_MTU_1024);
  EXPECT_EQ(error_of(resolution.take_path(id, {})), EINVAL) << "it has one";
  devices.set({});
  EXPECT_EQ(error_of(resolution.resolve_route(id, std::chrono::seconds(2))), ENODEV);
}

}  // namespace
}  // namespace softrnic::cma
