#include "daemon/service.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/reason_id.h"
#include "samehost/atomic_locks.h"
#include "tests/unit/daemon/network.h"

namespace softrnic::daemon {
namespace {

class NoLanes final : public Lanes {
 public:
  Expected<LaneGrant, Failure> take(int, uid_t) override {
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
  Expected<LaneGrant, Failure> take(int, uid_t) override { return LaneGrant{++last_, -1, 1, true}; }
  void free(std::uint32_t) override {}
  std::uint32_t made() const override { return last_ + 1; }
  std::uint32_t used() const override { return last_; }
  int socket_of(std::uint32_t) const override { return -1; }
  std::uint32_t receive_buffer() const override { return 0; }

 private:
  std::uint32_t last_ = 0;
};

class ServiceTest : public ::testing::Test {
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

/// Clients that hold lanes.
class ServiceMemory : public ::testing::Test {
 protected:
  ServiceMemory() {
    for (Connection* each : {&holder, &other, &stranger}) each->greeted = true;
    holder.credentials = other.credentials = Credentials::own();
  }
  template <typename Request>
  Answer ask(Connection& from, const Request& request) {
    return service.handle(from, control::bytes_of(request), {});
  }
  Answer share(Connection& from, std::uint32_t lane) {
    auto request = control::make_message<control::ShareMemory>(7);
    request.pid = 77;
    request.memory = {.number = 5, .device = 1, .inode = 2};
    request.inbox = {.number = 4, .device = 1, .inode = 4};
    request.count = 1;
    request.doorbells[0] = {.lane = lane, .doorbell = {.number = 6, .device = 1, .inode = 3}};
    return ask(from, request);
  }
  control::LocalPeerReply found(Connection& from, std::uint32_t lane) {
    auto request = control::make_message<control::FindLocalPeer>(7);
    request.lane = lane;
    const Answer answer = ask(from, request);
    EXPECT_EQ(answer.fd, -1) << "the daemon has none";
    const auto reply = control::parse_message<control::LocalPeerReply>(answer.bytes);
    EXPECT_TRUE(reply);
    return reply.value_or(control::LocalPeerReply{});
  }
  static ino_t inode_of(int fd) {
    struct stat status {};
    EXPECT_EQ(fstat(fd, &status), 0);
    return status.st_ino;
  }
  template <typename T>
  std::optional<ReasonId> refusal(Connection& from, const T& request) {
    const auto error = control::parse_message<control::ErrorReply>(ask(from, request).bytes);
    return error ? std::optional(static_cast<ReasonId>(error->reason)) : std::nullopt;
  }

  NumberedLanes lanes;
  Service service{lanes, DeviceList("host")};
  Connection holder, other, stranger;
};

TEST_F(ServiceMemory, IsFoundWhereTheHolderOfTheLaneHasIt) {
  EXPECT_EQ(found(other, 1).pid, 0);
  ask(holder, control::make_message<control::TakeLane>(7));
  EXPECT_EQ(found(other, 1).pid, 0);
  const Answer locks = share(holder, 1);
  EXPECT_TRUE(samehost::DirectLocks(UniqueFd(dup(locks.fd))));
  const control::LocalPeerReply local_peer = found(other, 1);
  EXPECT_EQ(local_peer.pid, 77);
  EXPECT_EQ(local_peer.memory.number, 5);
  EXPECT_EQ(local_peer.inbox.number, 4);
  EXPECT_EQ(local_peer.doorbell.number, 6);
  ask(other, control::make_message<control::TakeLane>(7));
  EXPECT_EQ(share(other, 2).fd, locks.fd) << "one table for all who may attach to each other";
  EXPECT_EQ(found(other, 3).pid, 0);
  service.release(holder, 0);
  EXPECT_EQ(found(other, 1).pid, 0);
}

TEST_F(ServiceMemory, LocksAreKeptForHoldersOfLanes) {
  const auto nothing = control::make_message<control::ShareMemory>(7);
  EXPECT_EQ(ask(holder, nothing).fd, -1);
  ask(holder, control::make_message<control::TakeLane>(7));
  const ino_t first = inode_of(share(holder, 1).fd);
  service.release(holder, 0);
  ask(other, control::make_message<control::TakeLane>(7));
  EXPECT_NE(inode_of(share(other, 2).fd), first) << "whoever had the old ones is gone";
}

TEST_F(ServiceMemory, OnlyBellsOfOwnLanesAreNamed) {
  ask(holder, control::make_message<control::TakeLane>(7));
  EXPECT_EQ(control::parse_message<control::ErrorReply>(share(other, 1).bytes)->reason,
            static_cast<std::uint32_t>(ReasonId::lane_not_yours));
  auto many = control::make_message<control::ShareMemory>(7);
  many.count = control::kMaxSharedLanes + 1;
  EXPECT_EQ(refusal(holder, many), ReasonId::daemon_bad_message);
}

// One whose credentials are others, or cannot be read.
TEST_F(ServiceMemory, AStrangerFindsNothingSharesNothingAndCommandsNothing) {
  ask(holder, control::make_message<control::TakeLane>(7));
  ask(stranger, control::make_message<control::TakeLane>(7));
  share(holder, 1);
  EXPECT_EQ(share(stranger, 2).fd, -1) << "no locks";
  auto find = control::make_message<control::FindLocalPeer>(7);
  find.lane = 1;
  EXPECT_EQ(refusal(stranger, find), ReasonId::local_peer_apart);
  find.lane = 2;
  EXPECT_EQ(refusal(holder, find), ReasonId::local_peer_apart);
  bool ended = false;
  service.end = [&ended] { ended = true; };
  EXPECT_EQ(refusal(stranger, control::make_message<control::Shutdown>(7)), ReasonId::daemon_apart);
  EXPECT_FALSE(ended);
  EXPECT_EQ(refusal(stranger, control::make_message<control::AddLink>(7)), ReasonId::daemon_apart);
  EXPECT_EQ(refusal(stranger, control::make_message<control::DeleteLink>(7)), ReasonId::daemon_apart);
  EXPECT_EQ(refusal(holder, control::make_message<control::Shutdown>(7)), std::nullopt);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace softrnic::daemon
