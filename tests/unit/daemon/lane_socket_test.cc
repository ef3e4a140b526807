// The socket of a lane, as a peer meets it.
#include "daemon/lane_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "wire/headers.h"

namespace softrnic::daemon {
namespace {

constexpr int kHangMs = 20'000;

sockaddr_in6 lane_port_of_loopback() {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_addr = in6addr_loopback;
  to.sin6_port = htons(wire::kRoceUdpPort);
  return to;
}

// Linux' rxe sends all its packets over IPv6 so; a socket that does not ask for them never hears of them.
TEST(LaneSocketTest, TakesDatagramsOverIpv6WithoutAChecksum) {
  const auto lane = open_lane_socket(false);
  if (!lane || !lane->dual_stack) GTEST_SKIP() << "no IPv6, or the port is taken";
  const UniqueFd peer(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  ASSERT_EQ(setsockopt(peer.get(), IPPROTO_UDP, UDP_NO_CHECK6_TX, &one, sizeof one), 0);
  const sockaddr_in6 to = lane_port_of_loopback();
  ASSERT_EQ(sendto(peer.get(), "packet", 6, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to), 6);
  pollfd waits{lane->fd.get(), POLLIN, 0};
  ASSERT_EQ(poll(&waits, 1, kHangMs), 1) << "the kernel has dropped it: Udp6InCsumErrors";
  char bytes[8];
  EXPECT_EQ(recv(lane->fd.get(), bytes, sizeof bytes, 0), 6);
}

}  // namespace
}  // namespace softrnic::daemon
