#include "daemon/service.h"

#include <gtest/gtest.h>

#include "tests/unit/daemon/network.h"

namespace softrnic::daemon {
namespace {

class NoLanes final : public Lanes {
 public:
  Expected<LaneGrant, Failure> take(int) override {
    return Unexpected{refuse(ENOSPC, ReasonId::out_of_lanes)};
  }
  void free(std::uint32_t) override {}
  std::uint32_t made() const override { return 1; }
  std::uint32_t used() const override { return 0; }
  int socket_of(std::uint32_t) const override { return -1; }
  std::uint32_t receive_buffer() const override { return 0; }
};

class ServiceTest : public testing::Test {
 protected:
  template <typename T>
  control::MessageType ask(Connection& from) {
    const auto request = control::make_message<T>(7);
    const Answer answer = service.handle(from, control::bytes_of(request), {});
    return control::peek_header(answer.bytes)->type;
  }

  NoLanes lanes;
  Service service{lanes, DeviceList("host")};
  Connection program, other;
};

// A program that has a device open and no QP yet must not lose it when a better netdev comes up.
TEST_F(ServiceTest, AnOpenDeviceStaysOnItsNetdev) {
  program.greeted = other.greeted = true;
  EXPECT_TRUE(service.may_rebind());
  EXPECT_EQ(ask<control::HoldDevices>(program), control::MessageType::done);
  EXPECT_EQ(ask<control::HoldDevices>(program), control::MessageType::done);
  EXPECT_FALSE(service.may_rebind());

  service.look_at_network = [] { return Network().netdev(1, "lo").address(1, "127.0.0.1"); };
  ask<control::ListDevices>(other);
  service.look_at_network = [] {
    return Network().netdev(1, "lo").address(1, "127.0.0.1").netdev(2, "eth0").address(2, "10.0.0.1");
  };
  ask<control::ListDevices>(other);
  EXPECT_EQ(service.device_list().devices().at(0).netdev, "lo");

  service.release(other, 0);
  EXPECT_FALSE(service.may_rebind());
  service.release(program, 0);
  EXPECT_TRUE(service.may_rebind());
  ask<control::ListDevices>(other);
  EXPECT_EQ(service.device_list().devices().at(0).netdev, "eth0");
}

}  // namespace
}  // namespace softrnic::daemon
