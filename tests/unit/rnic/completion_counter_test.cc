// Completion counters of queue pairs: what they are attached to, and what is left to those that have none.
#include "rnic/completion_counter.h"

#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

constexpr std::uint8_t kRemoteWrite = bit_of(ib::Counted::remote_write);
constexpr std::uint8_t kSend = bit_of(ib::Counted::send);

class CompletionCounterTest : public RnicTest {
 protected:
  std::unique_ptr<CompletionCounter> make_counter() {
    auto made = CompletionCounter::create(context, CompletionCounter::Unit::requests);
    EXPECT_TRUE(made);
    return std::move(*made);
  }
};

TEST_F(CompletionCounterTest, TheBitsAreThoseOfTheAbi) {
  using enum ib::Counted;
  unsigned bit = 1;
  for (const ib::Counted operation : {send, receive, read, remote_read, write, remote_write}) {
    EXPECT_EQ(bit_of(operation), bit);
    bit <<= 1;
  }
}

TEST_F(CompletionCounterTest, ACountedQueuePairTakesItsPeersRequestsItself) {
  const auto counter = make_counter();
  const auto counted = make_qp(IBV_QPT_RC);
  const auto plain = make_qp(IBV_QPT_RC);
  const auto local = make_qp(IBV_QPT_RC);
  ASSERT_TRUE(counted->attach_counter(*counter, kRemoteWrite));
  ASSERT_TRUE(local->attach_counter(*counter, kSend));
  for (const auto* qp : {&counted, &plain, &local}) bring(**qp, IBV_QPS_RTS);
  EXPECT_FALSE(counted->takes_requests());
  EXPECT_TRUE(plain->takes_requests());
  EXPECT_TRUE(local->takes_requests()) << "what its own program does, this side sees anyway";
  for (const auto* qp : {&counted, &plain, &local}) EXPECT_TRUE((*qp)->destroy());
  EXPECT_TRUE(counter->destroy());
}

TEST_F(CompletionCounterTest, IsBusyUntilTheLastQueuePairIsGone) {
  const auto counter = make_counter();
  const auto a = make_qp(IBV_QPT_RC);
  const auto b = make_qp(IBV_QPT_RC);
  EXPECT_TRUE(a->attach_counter(*counter, kSend));
  EXPECT_TRUE(a->attach_counter(*counter, kRemoteWrite)) << "once more for the same queue pair";
  EXPECT_TRUE(b->attach_counter(*counter, kSend));
  EXPECT_EQ(error_of(b->attach_counter(*counter, kSend)), EBUSY);
  EXPECT_EQ(only_reason(), ReasonId::counted_already);
  EXPECT_EQ(error_of(counter->destroy()), EBUSY);
  EXPECT_EQ(only_reason(), ReasonId::object_busy);
  EXPECT_TRUE(a->destroy());
  EXPECT_EQ(error_of(counter->destroy()), EBUSY);
  EXPECT_TRUE(b->destroy());
  EXPECT_TRUE(counter->destroy());
  EXPECT_EQ(context.counts.counters.users(), 0U);
}

TEST_F(CompletionCounterTest, IsAttachedInResetAndInitOnly) {
  const auto counter = make_counter();
  for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR}) {
    const auto qp = make_qp(IBV_QPT_RC);
    bring(*qp, state);
    const bool early = state == IBV_QPS_RESET || state == IBV_QPS_INIT;
    EXPECT_EQ(error_of(qp->attach_counter(*counter, kSend)), early ? 0 : EINVAL) << state;
    if (!early) {
      EXPECT_EQ(only_reason(), ReasonId::counter_too_late);
    }
    EXPECT_TRUE(qp->destroy());
  }
  EXPECT_TRUE(counter->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
