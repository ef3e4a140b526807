// In a network namespace of this program's own.
#include "link/kernel_drops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "base/unique_fd.h"
#include "tests/unit/link/link_fixture.h"

namespace softrnic::link::test {
namespace {

constexpr std::string_view kSnmp =
    "Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors OutNoRoutes\n"
    "Ip: 1 64 500 3 7 0\n"
    "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors\n"
    "Udp: 940 1 12 941 12 0 0\n";
constexpr std::string_view kNetstat =
    "TcpExt: SyncookiesSent IPReversePathFilter TCPTimeWaitOverflow\n"
    "TcpExt: 0 3 9\n"
    "IpExt: InNoRoutes InTruncatedPkts\n"
    "IpExt: 6 0\n";
constexpr std::string_view kSnmp6 =
    "Ip6InReceives                   \t1\n"
    "Udp6InErrors                    \t45\n"
    "Udp6InCsumErrors                \t45\n";

std::uint64_t of(KernelDrop drop, const KernelDropCounts& counts) {
  return counts[static_cast<std::size_t>(drop)];
}

TEST(KernelDrops, StandInThreeFiles) {
  const KernelDropCounts counts = parse_kernel_drops(kSnmp, kNetstat, kSnmp6);
  EXPECT_EQ(of(KernelDrop::ip_address, counts), 7U);
  EXPECT_EQ(of(KernelDrop::udp_buffer, counts), 12U);
  EXPECT_EQ(of(KernelDrop::reverse_path, counts), 3U);
  EXPECT_EQ(of(KernelDrop::udp6_checksum, counts), 45U);
  EXPECT_EQ(std::ranges::count(counts, 0U), std::ssize(counts) - 4);
}

TEST(KernelDrops, AreNoneInATextThatIsNoneOrEndsEarly) {
  constexpr KernelDropCounts kNone{};
  EXPECT_EQ(parse_kernel_drops("", "", ""), kNone);
  EXPECT_EQ(parse_kernel_drops("Udp: InCsumErrors\n", "TcpExt:", "Udp6InCsumErrors"), kNone);
  EXPECT_EQ(parse_kernel_drops("Udp: InCsumErrors\nTcp: 5\n", "TcpExt: A\n", "\n\n\t \nUdp6InCsumErrors x\n"),
            kNone);
}

TEST(KernelDrops, GrowWhenABufferIsFull) {
  for (const auto& [address, drop] :
       {std::pair{"127.0.0.1", KernelDrop::udp_buffer}, {"::1", KernelDrop::udp6_buffer}}) {
    std::uint16_t port = 0, from = 0;
    const UniqueFd full(bound_socket(address, 0, port)), sender(bound_socket(address, 0, from));
    const int least = 0;
    ASSERT_EQ(setsockopt(full.get(), SOL_SOCKET, SO_RCVBUF, &least, sizeof least), 0);
    sockaddr_storage to{};
    socklen_t length = sizeof to;
    ASSERT_EQ(getsockname(full.get(), reinterpret_cast<sockaddr*>(&to), &length), 0);
    const std::uint64_t before = of(drop, kernel_drops());
    for (int i = 0; i < 100; ++i)
      ASSERT_EQ(sendto(sender.get(), kSnmp.data(), 100, 0, reinterpret_cast<sockaddr*>(&to), length), 100);
    EXPECT_GT(of(drop, kernel_drops()), before) << address;
  }
}

}  // namespace
}  // namespace softrnic::link::test
