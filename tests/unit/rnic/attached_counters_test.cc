// Which completion counter counts what of a queue pair, and how long counters are in use.
#include "rnic/attached_counters.h"

#include "rnic/completion_counter.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

using enum ib::Counted;

class AttachedCountersTest : public RnicTest {
 protected:
  std::unique_ptr<CompletionCounter> make_counter(CompletionCounter::Unit unit) {
    return std::move(*CompletionCounter::create(context, unit));
  }

  AttachedCounters attached;
};

TEST_F(AttachedCountersTest, EachOperationHasItsCounter) {
  const auto requests = make_counter(CompletionCounter::Unit::requests);
  const auto bytes = make_counter(CompletionCounter::Unit::bytes);
  attached.attach(*requests, bit_of(send) | bit_of(read));
  attached.attach(*bytes, bit_of(remote_write));
  attached.ended(send, true, 100);
  attached.ended(read, false, 0);
  attached.ended(remote_write, true, 300);
  EXPECT_EQ(requests->completed, 1U);
  EXPECT_EQ(requests->failed, 1U);
  EXPECT_EQ(bytes->completed, 300U);
  EXPECT_EQ(bytes->failed, 0U);
  attached.release();
  EXPECT_TRUE(requests->destroy());
  EXPECT_TRUE(bytes->destroy());
}

TEST_F(AttachedCountersTest, ACounterIsUsedOnceHoweverMuchItCounts) {
  const auto counter = make_counter(CompletionCounter::Unit::requests);
  attached.release();  // there is none
  attached.attach(*counter, bit_of(send) | bit_of(write));
  attached.attach(*counter, bit_of(receive));
  EXPECT_EQ(counter->uses.users(), 1U);
  attached.release();
  EXPECT_EQ(counter->uses.users(), 0U);
  attached.release();
  EXPECT_EQ(counter->uses.users(), 0U) << "it was given back already";
  EXPECT_TRUE(counter->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
