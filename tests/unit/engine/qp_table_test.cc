#include "engine/qp_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "engine/qpn_order.h"

namespace softrnic::engine {
namespace {

/// The table keeps it and does not look at it.
rnic::QueuePair& some_queue_pair() {
  static int place;
  return reinterpret_cast<rnic::QueuePair&>(place);
}

struct QpNumbers : testing::Test {
  static constexpr std::uint8_t kLane = 7;
  QpTable table{kLane, 1, QpnOrder(random_key())};
};

TEST_F(QpNumbers, EachComesOnceBeforeAnyComesAgain) {
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 65535; ++i) {
    const auto qpn = table.insert(some_queue_pair());
    ASSERT_TRUE(qpn.has_value());
    EXPECT_NE(qpn->index(), Qpn::kLaneIndex);
    EXPECT_TRUE(seen.insert(qpn->value).second);
    table.erase(*qpn);
  }
  EXPECT_EQ(table.size(), 0U);
}

TEST_F(QpNumbers, AreAllInUseAtLast) {
  for (int i = 0; i < 65535; ++i) ASSERT_TRUE(table.insert(some_queue_pair()));
  EXPECT_FALSE(table.insert(some_queue_pair()));
}

// Who connects and learns his own queue pair's number is not to know those that come next: by chance one of
// 65,536 pairs is adjacent.
TEST_F(QpNumbers, DoNotTellTheNext) {
  int near = 0;
  for (int i = 0; i < 1000; ++i) {
    const int one = table.insert(some_queue_pair())->index();
    const int other = table.insert(some_queue_pair())->index();
    if (std::abs(one - other) < 16) ++near;
  }
  EXPECT_LE(near, 10) << "0.5 are to be expected";
}

TEST_F(QpNumbers, OfTwoLanesHaveNothingInCommon) {
  QpTable other{kLane, 1, QpnOrder(random_key())};
  int same = 0;
  for (int i = 0; i < 1000; ++i)
    if (table.insert(some_queue_pair()) == other.insert(some_queue_pair())) ++same;
  EXPECT_LE(same, 5);
}

}  // namespace
}  // namespace softrnic::engine
