#include <gmock/gmock.h>

#include "doctor/judges.h"

namespace softrnic::doctor {
namespace {

using testing::HasSubstr;

TEST(KernelDrops, AreToldWithTheirCauses) {
  Facts facts;
  EXPECT_EQ(judge_kernel_drops(facts).outcome, Outcome::good);
  facts.network.drops[static_cast<std::size_t>(KernelDrop::udp6_checksum)] = 45;
  const Finding finding = judge_kernel_drops(facts);
  EXPECT_EQ(finding.outcome, Outcome::not_checked);
  EXPECT_THAT(finding.seen, HasSubstr("Udp6InCsumErrors 45"));
  EXPECT_THAT(finding.cure, HasSubstr("rxe sends none"));
}

}  // namespace
}  // namespace softrnic::doctor
