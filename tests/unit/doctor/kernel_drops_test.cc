#include "doctor/kernel_drops.h"

#include <gmock/gmock.h>

#include <string>

#include "doctor/judges.h"

namespace softrnic::doctor {
namespace {

using testing::HasSubstr;

constexpr std::string_view kSnmp =
    "Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors OutNoRoutes\n"
    "Ip: 1 64 500 3 7 0\n"
    "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors\n"
    "Udp: 940 1 12 941 12 0 0\n";
constexpr std::string_view kSnmp6 =
    "Ip6InReceives                   \t1\n"
    "Udp6InErrors                    \t45\n"
    "Udp6InCsumErrors                \t45\n";

TEST(KernelDrops, AreThoseThatAreNotZero) {
  const auto drops = kernel_drops(kSnmp, kSnmp6);
  ASSERT_EQ(drops.size(), 3U);
  EXPECT_EQ(drops[0].counter, "IpInAddrErrors");
  EXPECT_EQ(drops[0].count, 7U);
  EXPECT_EQ(drops[1].counter, "UdpRcvbufErrors");
  EXPECT_EQ(drops[1].count, 12U);
  EXPECT_EQ(drops[2].counter, "Udp6InCsumErrors");
  EXPECT_EQ(drops[2].count, 45U);
}

TEST(KernelDrops, AreNoneInATextThatIsNoneOrEndsEarly) {
  EXPECT_TRUE(kernel_drops("", "").empty());
  EXPECT_TRUE(kernel_drops("Udp: InCsumErrors\n", "Udp6InCsumErrors").empty());
  EXPECT_TRUE(kernel_drops("Udp: InCsumErrors\nTcp: 5\n", "\n\n\t \nUdp6InCsumErrors x\n").empty());
}

TEST(KernelDrops, AreToldWithTheirCauses) {
  Facts facts;
  EXPECT_EQ(judge_kernel_drops(facts).outcome, Outcome::good);
  facts.network.drops = kernel_drops(kSnmp, kSnmp6);
  const Finding finding = judge_kernel_drops(facts);
  EXPECT_EQ(finding.outcome, Outcome::not_checked);
  EXPECT_THAT(finding.seen, HasSubstr("Udp6InCsumErrors 45"));
  EXPECT_THAT(finding.cure, HasSubstr("rxe sends none"));
}

}  // namespace
}  // namespace softrnic::doctor
