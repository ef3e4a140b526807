#include "transport/ib/psn.h"

#include <gtest/gtest.h>

namespace softrnic::ib {
namespace {

TEST(Psn, UnwrapsToTheNearest) {
  const Psn near = Psn::first(5);
  EXPECT_EQ(Psn::unwrap(5, near), near);
  EXPECT_EQ(Psn::unwrap(6, near), near + 1);
  EXPECT_EQ(Psn::unwrap(4, near), near.previous());
  EXPECT_EQ(near - Psn::unwrap(0xfffffe, near), 7U);
  EXPECT_EQ(Psn::unwrap(5 + 0x7fffff, near) - near, 0x7fffffU);
  EXPECT_EQ(near - Psn::unwrap(5 + 0x800000, near), 0x800000U);
}

TEST(Psn, ComparesAcrossTheWrap) {
  const Psn last = Psn::first(0xffffff);
  const Psn next = Psn::unwrap(0, last);
  EXPECT_GT(next, last);
  EXPECT_EQ(next - last, 1U);
  EXPECT_EQ(next.wire(), 0U);
}

TEST(Psn, CountsForEver) {
  Psn psn = Psn::first(0);
  for (int i = 0; i < 10; ++i) {
    const Psn later = psn + 0x7fffff;
    EXPECT_EQ(Psn::unwrap(later.wire(), psn), later);
    psn = later;
  }
}

TEST(PacketsOf, AMessageHasAtLeastOne) {
  EXPECT_EQ(packets_of(0, 1024), 1U);
  EXPECT_EQ(packets_of(1, 1024), 1U);
  EXPECT_EQ(packets_of(1024, 1024), 1U);
  EXPECT_EQ(packets_of(1025, 1024), 2U);
  EXPECT_EQ(packets_of(1U << 31, 256), 1U << 23);
}

}  // namespace
}  // namespace softrnic::ib
