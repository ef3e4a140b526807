// Ports of ids, and which listener a request is for.
#include "cma/bound_ports.h"

#include "cma/ip_header.h"
#include "tests/support/cm_host.h"
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

class BoundPortsTest : public ::testing::Test {
 protected:
  BoundPortsTest() { devices.set({device_with({"10.0.0.1", "10.0.0.2", "fd00::1"})}); }
  Id& listener(const SocketAddress& at) {
    Id& id = ids.add(PortSpace::tcp, IBV_QPT_RC, 0);
    EXPECT_TRUE(ports.bind(id, at, 0));
    EXPECT_TRUE(ports.listen(id));
    id.state = State::listen;
    ports.update(id);
    return id;
  }
  /// A request to `to` from 10.0.0.9.
  const cm::Event& request(const SocketAddress& to) {
    data.assign(IpHeader::kSize, std::byte{});
    IpHeader{to.family == Family::ipv4 ? address("10.0.0.9", 1) : address("fd00::9", 1), to}.write(data);
    event.kind = cm::EventKind::request;
    event.service_id = cm::ServiceId(service_id_of(PortSpace::tcp, to.port));
    event.path.local = to.host;
    event.path.remote = address(to.family == Family::ipv4 ? "10.0.0.9" : "fd00::9").host;
    event.private_data = data;
    return event;
  }

  testing::CmHost host;
  cm::Manager cm{host, 1};
  IdTable ids;
  DeviceTable devices;
  BoundPorts ports{cm, ids, devices};
  std::vector<std::byte> data;
  cm::Event event;
};

TEST_F(BoundPortsTest, BindingGivesPortDeviceAndState) {
  Id& id = ids.add(PortSpace::tcp, IBV_QPT_RC, 0);
  ASSERT_TRUE(ports.bind(id, address("10.0.0.1"), 5));
  EXPECT_EQ(id.state, State::address_bound);
  EXPECT_EQ(id.source.port, kFirstEphemeralPort + 5);
  EXPECT_EQ(id.binding.device, 1U);
  EXPECT_EQ(id.port->port, id.source.port);
}

TEST_F(BoundPortsTest, RefusedBindingsChangeNothing) {
  Id& id = ids.add(PortSpace::tcp, IBV_QPT_RC, 0);
  EXPECT_EQ(error_of(ports.bind(id, {}, 0)), EAFNOSUPPORT);
  EXPECT_EQ(error_of(ports.bind(id, address("fe80::1"), 0)), EINVAL);
  EXPECT_EQ(error_of(ports.bind(id, address("10.0.0.7"), 0)), EADDRNOTAVAIL);
  EXPECT_EQ(id.state, State::idle);
  EXPECT_FALSE(id.port);
  listener(address("10.0.0.1", kPort));
  EXPECT_EQ(error_of(ports.bind(id, address("10.0.0.1", kPort), 0)), EADDRINUSE);
  EXPECT_EQ(id.state, State::idle);
}

TEST_F(BoundPortsTest, ASpecificAddressHearsBeforeTheWildcard) {
  Id& of_one = listener(address("10.0.0.1", kPort));
  Id& other = listener(address("10.0.0.2", kPort));
  EXPECT_EQ(ports.listener_for(request(address("10.0.0.1", kPort))), &of_one);
  EXPECT_EQ(ports.listener_for(request(address("10.0.0.2", kPort))), &other);
  EXPECT_EQ(ports.listener_for(request(address("fd00::1", kPort))), nullptr);
  EXPECT_NE(ports.listener_elsewhere(request(address("fd00::1", kPort))), nullptr);
  EXPECT_EQ(ports.listener_elsewhere(request(address("fd00::1", kPort + 1))), nullptr);
}

TEST_F(BoundPortsTest, TheWildcardOfIpv6HearsBothUnlessItIsToldNotTo) {
  Id& id = listener(address("::", kPort));
  EXPECT_EQ(ports.listener_for(request(address("10.0.0.1", kPort))), &id);
  id.family_only = true;
  EXPECT_EQ(ports.listener_for(request(address("10.0.0.1", kPort))), nullptr);
  EXPECT_EQ(ports.listener_for(request(address("fd00::1", kPort))), &id);
}

TEST_F(BoundPortsTest, NobodyOutsideReachesLoopback) {
  listener(address("0.0.0.0", kPort));
  cm::Event from_outside = request(address("127.0.0.1", kPort));
  EXPECT_EQ(ports.listener_for(from_outside), nullptr);
  from_outside.path.remote = address("10.0.0.2").host;
  EXPECT_NE(ports.listener_for(from_outside), nullptr);
}

TEST_F(BoundPortsTest, APortMayBeHeardWhileSomebodyIsBoundToIt) {
  Id& id = ids.add(PortSpace::tcp, IBV_QPT_RC, 0);
  ASSERT_TRUE(ports.bind(id, address("0.0.0.0", kPort), 0));
  EXPECT_FALSE(ports.may_be_heard(kPort)) << "it is not attended yet";
  ASSERT_TRUE(ports.attend(id, kPort));
  EXPECT_TRUE(ports.may_be_heard(kPort));
  EXPECT_FALSE(ports.may_be_heard(kPort, id.number));
  id.state = State::listen;
  EXPECT_FALSE(ports.may_be_heard(kPort)) << "whoever listens has heard it";
  ports.unattend(id);
  EXPECT_FALSE(id.attends);
  EXPECT_TRUE(cm.listen(cm::ServiceId(service_id_of(PortSpace::tcp, kPort))))
      << "cm takes no requests for it";
}

TEST_F(BoundPortsTest, AReleasedPortIsFree) {
  Id& id = listener(address("10.0.0.1", kPort));
  ports.release(id);
  EXPECT_FALSE(id.port);
  Id& next = ids.add(PortSpace::tcp, IBV_QPT_RC, 0);
  EXPECT_TRUE(ports.bind(next, address("10.0.0.1", kPort), 0));
}

}  // namespace
}  // namespace softrnic::cma
