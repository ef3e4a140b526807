// Netdevs and ways whose MTU is too small. The netdev is the loopback of a network
// namespace of this program's own.
#include "link/mtu_hint.h"

#include <gtest/gtest.h>
#include <net/if.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/reason_id.h"
#include "link/udp_link.h"
#include "tests/unit/link/link_fixture.h"

namespace softrnic::link::test {
namespace {

constexpr std::uint32_t kLoopbackMtu = 65536;

bool configure(const std::string& words) {
  return std::system(("ip " + words + " 2>/dev/null").c_str()) == 0;
}

/// The loopback with another MTU.
class SmallLoopback {
 public:
  explicit SmallLoopback(std::uint32_t mtu) : changed_(configure("link set lo mtu " + std::to_string(mtu))) {}
  ~SmallLoopback() { configure("link set lo mtu " + std::to_string(kLoopbackMtu)); }
  SmallLoopback(const SmallLoopback&) = delete;
  SmallLoopback& operator=(const SmallLoopback&) = delete;
  bool changed() const { return changed_; }

 private:
  bool changed_;
};

TEST(NetworkMtu, IsThatOfTheNetdevOrOfTheRoute) {
  EXPECT_EQ(mtu_hint(gid_of("127.0.0.1"), gid_of("127.0.0.2"), 0), kLoopbackMtu - 1) << "the most of IPv4";
  EXPECT_EQ(mtu_hint(gid_of("::1"), gid_of("::1"), 0), kLoopbackMtu);
  EXPECT_EQ(mtu_hint(gid_of("127.0.0.1"), gid_of("255.255.255.255"), 0), 0U) << "no way there";
  EXPECT_EQ(netdev_mtu(if_nametoindex("lo")), kLoopbackMtu);
  EXPECT_EQ(netdev_mtu(0), 0U);
  if (!configure("route replace 203.0.113.0/24 dev lo mtu 1300"))
    GTEST_SKIP() << "no routes can be made here";
  EXPECT_EQ(mtu_hint(gid_of("127.0.0.1"), gid_of("203.0.113.1"), 0), 1300U);
  EXPECT_EQ(mtu_hint(gid_of("198.51.100.1"), gid_of("203.0.113.1"), 0), 1300U) << "a source of another host";
}

class TooLong : public ::testing::TestWithParam<const char*> {
 protected:
  TooLong() {
    std::uint16_t port = 0;
    const int fd = bound_socket(GetParam(), 0, port);
    link_.emplace(UdpLink::Options{.fd = fd, .port = port, .peer_port = port});
    maker_.path.source = maker_.path.destination = gid_of(GetParam());
    link_->set_addresses({{gid_of(GetParam()), if_nametoindex("lo")}});
  }
  void send(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
      link_->send(maker_.make(wire::Opcode::rc_send_only, i, pattern(2048, i)), TimePoint{});
    link_->flush(TimePoint{});
  }
  std::optional<UdpLink> link_;
  PacketMaker maker_;
};

TEST_P(TooLong, IsExplainedAtOnceWithItsFigures) {
  const bool ipv4 = gid_of(GetParam()).is_ipv4();
  for (const std::uint32_t count : {1U, 10U}) {
    Collector got;
    {
      const SmallLoopback small(1500);
      if (!small.changed()) GTEST_SKIP() << "the loopback cannot be changed here";
      send(count);
      static_cast<void>(link_->receive(got, TimePoint{}));
    }
    ASSERT_EQ(got.drops.size(), count);
    const Reason& reason = got.drops[0].first;
    EXPECT_EQ(reason.id, ReasonId::send_too_long);
    EXPECT_EQ(reason.figures[0], 2048U + 12 + 4 + 8 + (ipv4 ? 20 : 40));
    EXPECT_EQ(reason.figures[1], 1500U);
  }
}

TEST_P(TooLong, IsForgottenWhenTheMtuIsThereAgain) {
  {
    const SmallLoopback small(1500);
    if (!small.changed()) GTEST_SKIP() << "the loopback cannot be changed here";
    send(10);
  }
  Collector got;
  static_cast<void>(link_->receive(got, TimePoint{}));
  got.drops.clear();
  for (std::uint32_t i = 0; i < 10; ++i) {
    const auto opcode = i == 0   ? wire::Opcode::rc_send_first
                        : i == 9 ? wire::Opcode::rc_send_last
                                 : wire::Opcode::rc_send_middle;
    link_->send(maker_.make(opcode, i, pattern(2048, i)), TimePoint{});
  }
  link_->flush(TimePoint{});
  read_until(*link_, got, 10);
  EXPECT_TRUE(got.drops.empty());
  EXPECT_EQ(got.packets.size(), 1U) << "the kernel cuts them up as before";
}

INSTANTIATE_TEST_SUITE_P(Families, TooLong, ::testing::Values("127.0.0.1", "::1"),
                         [](const auto& family) { return gid_of(family.param).is_ipv4() ? "IPv4" : "IPv6"; });

}  // namespace
}  // namespace softrnic::link::test
