// The rows of the control page: when they are written, and whose.
#include "engine/page_rows.h"

#include <vector>

#include "control/page_reader.h"
#include "engine/qpn_order.h"
#include "tests/unit/engine/queue_pairs_fixture.h"

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

class Rows : public test::QueuePairs {
 protected:
  static constexpr std::uint8_t kLane = 3;

  Rows() { rows.take_row(placed.slot); }

  control::PageWriter page;
  PageRows rows{page, kLane};
  BatchClock clock;
  Placed placed{make_qp()};
};

TEST_F(Rows, AreDueOnceForAllThatIsOutOfDate) {
  clock.begin(TimePoint{1s});
  EXPECT_EQ(rows.due(), kNever);
  EXPECT_TRUE(rows.outdate(placed.slot, clock));
  EXPECT_EQ(rows.due(), TimePoint{1s} + PageRows::kInterval);
  clock.begin(TimePoint{2s});
  EXPECT_FALSE(rows.outdate(placed.slot, clock));
  EXPECT_EQ(rows.due(), TimePoint{1s} + PageRows::kInterval) << "no later than it was";
}

// The table of the test is empty, as if the queue pair had gone meanwhile.
TEST_F(Rows, OfAQueuePairThatHasGoneNothingIsWritten) {
  QpTable table(kLane, 1, QpnOrder(random_key()));
  EXPECT_TRUE(rows.outdate(placed.slot, clock));
  std::size_t written = 0;
  rows.write(table, [&](const rnic::QueuePair&) { return ++written, std::uint8_t{0}; });
  EXPECT_EQ(written, 0U);
  EXPECT_EQ(rows.due(), kNever);
}

// The first number of a table is the first turn's: found by trying, as its order is a secret.
TEST_F(Rows, OneThatIsOutOfDateIsWrittenOnce) {
  std::size_t written = 0;
  const auto path_of = [&](const rnic::QueuePair&) { return ++written, std::uint8_t{0}; };
  QpTable table(placed.qp->qpn().lane(), 1, QpnOrder(random_key()));
  while (table.find(placed.qp->qpn()) == nullptr) ASSERT_TRUE(table.insert(*placed.qp));
  QpSlot& slot = *table.find(placed.qp->qpn());
  rows.take_row(slot);
  EXPECT_TRUE(rows.outdate(slot, clock));
  EXPECT_FALSE(rows.outdate(slot, clock));
  rows.write(table, path_of);
  rows.write(table, path_of);
  EXPECT_EQ(written, 1U);
  auto reader = control::PageReader::open(page.fd());
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->qps().size(), 1U);
}

TEST_F(Rows, OneWithoutARowOfThePageIsNotDue) {
  QpSlot slot;
  slot.qp = placed.qp.get();
  EXPECT_FALSE(rows.outdate(slot, clock));
  EXPECT_EQ(rows.due(), kNever);
}

TEST_F(Rows, TheLanesCountersStandInThePageAsLongAsItLives) {
  rows.count(ib::Counter::drop_no_receive, 5);
  auto reader = control::PageReader::open(page.fd());
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->lanes().size(), 1U);
  EXPECT_EQ(reader->lanes()[0].lane, kLane);
  EXPECT_EQ(reader->lanes()[0].counters[static_cast<std::size_t>(ib::Counter::drop_no_receive)], 5U);
}

}  // namespace
}  // namespace softrnic::engine
