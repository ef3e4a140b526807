// QP1 on UDP sockets of the loopback.
#include <gmock/gmock.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/reason_id.h"
#include "base/unique_fd.h"
#include "tests/unit/daemon/gsi_fixture.h"

namespace softrnic::daemon {
namespace {

using link::test::gid_of;

class GsiOnSockets : public GsiFixture {
 protected:
  /// Two hosts of one machine: the same port of two addresses.
  std::unique_ptr<Gsi> open(const std::string& address, const link::FaultPlan& faults = {}) {
    std::uint16_t port = 0;
    const UniqueFd socket(link::test::bound_socket(address, wire::kRoceUdpPort, port));
    EXPECT_TRUE(socket);
    auto gsi = std::make_unique<Gsi>(make_gsi_link(socket.get(), faults, nullptr), page_);
    gsi->set_addresses({{gid_of(address), 1}});
    return gsi;
  }
  static mad::Address path(const std::string& from, const std::string& to) {
    mad::Address address;
    address.local = gid_of(from);
    address.remote = gid_of(to);
    return address;
  }
};

TEST_F(GsiOnSockets, MadsTravel) {
  const auto a = open("127.0.0.1"), b = open("127.0.0.2");
  listen(*b);
  std::vector<mad::Mad> mads(100);
  for (std::size_t i = 0; i < mads.size(); ++i) {
    mads[i].fill(static_cast<std::byte>(i));
    auto to = path("127.0.0.1", "127.0.0.2");
    to.traffic_class = 0x20;
    a->send(to, mads[i], monotonic_now());
  }
  a->flush(monotonic_now());
  pollfd waiting{b->readable_fd(), POLLIN, 0};
  while (got_.size() < mads.size() && poll(&waiting, 1, 5000) == 1) b->receive(monotonic_now());
  ASSERT_EQ(got_.size(), mads.size());
  for (std::size_t i = 0; i < mads.size(); ++i) EXPECT_TRUE(std::ranges::equal(got_[i].mad, mads[i])) << i;
  auto expected = path("127.0.0.2", "127.0.0.1");
  expected.interface_index = 1;
  expected.traffic_class = 0x20;
  EXPECT_EQ(got_[0].from, expected);
}

TEST_F(GsiOnSockets, WhatTheKernelRefusesIsTold) {
  const auto a = open("127.0.0.1");
  const mad::Mad mad{};
  a->send(path("127.0.0.1", "255.255.255.255"), mad, monotonic_now());  // no route from there
  a->flush(monotonic_now());
  EXPECT_LE(a->deadline(), monotonic_now());
  a->receive(monotonic_now());
  ASSERT_EQ(explanations.size(), 1U);
  EXPECT_EQ(explanations[0].reason.id, ReasonId::send_failed);
  EXPECT_EQ(explanations[0].peer_qpn, 1U);
  EXPECT_EQ(a->deadline(), kNever);
}

TEST_F(GsiOnSockets, FaultsAreInjected) {
  link::FaultPlan all;
  all.drop = 1;
  const auto a = open("127.0.0.1", all);
  const mad::Mad mad{};
  a->send(path("127.0.0.1", "127.0.0.2"), mad, monotonic_now());
  a->receive(monotonic_now());
  ASSERT_EQ(explanations.size(), 1U);
  EXPECT_EQ(explanations[0].reason.id, ReasonId::drop_injected);
}

TEST_F(GsiOnSockets, TheSocketKeepsTheBuffersItHas) {
  std::uint16_t port = 0;
  const UniqueFd socket(link::test::bound_socket("127.0.0.1", wire::kRoceUdpPort, port));
  const auto sizes = [&] {
    std::array<int, 2> out{};
    socklen_t length = sizeof out[0];
    getsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &out[0], &length);
    getsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &out[1], &length);
    return out;
  };
  const auto before = sizes();
  const auto link = make_gsi_link(socket.get(), {}, nullptr);
  EXPECT_EQ(sizes(), before);
}

}  // namespace
}  // namespace softrnic::daemon
