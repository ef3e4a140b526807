#include "daemon/service.h"

#include <gtest/gtest.h>

#include "control/direct_locks.h"
#include "control/shared_memory.h"
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

/// Has lanes 1, 2, …
class NumberedLanes final : public Lanes {
 public:
  Expected<LaneGrant, Failure> take(int) override { return LaneGrant{++last_, -1, 1, true}; }
  void free(std::uint32_t) override {}
  std::uint32_t made() const override { return last_ + 1; }
  std::uint32_t used() const override { return last_; }
  int socket_of(std::uint32_t) const override { return -1; }
  std::uint32_t receive_buffer() const override { return 0; }

 private:
  std::uint32_t last_ = 0;
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

TEST(ServiceMemory, IsThatOfWhoHoldsTheLane) {
  NumberedLanes lanes;
  Service service(lanes, DeviceList("host"));
  Connection holder, other;
  holder.greeted = other.greeted = true;
  const auto ask = [&service](Connection& from, const auto& request, UniqueFd fd = {}) {
    return service.handle(from, control::bytes_of(request), std::move(fd));
  };
  const auto shown = [&ask, &other](std::uint32_t lane) {
    auto request = control::make_message<control::ShowMemory>(7);
    request.lane = lane;
    return ask(other, request).fd;
  };
  EXPECT_EQ(shown(1), -1);
  ask(holder, control::make_message<control::TakeLane>(7));
  EXPECT_EQ(shown(1), -1);
  const auto share = control::make_message<control::ShareMemory>(7);
  const Answer without = ask(holder, share);
  EXPECT_EQ(control::peek_header(without.bytes)->type, control::MessageType::error);
  const Answer locks = ask(holder, share, control::make_shared_memory("test", 4096));
  EXPECT_TRUE(control::DirectLocks(UniqueFd(dup(locks.fd))));
  EXPECT_TRUE(control::is_shared_memory(shown(1), 4096));
  EXPECT_EQ(ask(other, share, control::make_shared_memory("test", 4096)).fd, locks.fd) << "one table for all";
  EXPECT_EQ(shown(2), -1);
  service.release(holder, 0);
  EXPECT_EQ(shown(1), -1);
}

}  // namespace
}  // namespace softrnic::daemon
