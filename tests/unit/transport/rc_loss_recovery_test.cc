#include "transport/ib/rc_loss_recovery.h"

#include <gtest/gtest.h>

#include <utility>

namespace softrnic::ib {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Cause = LossRecovery::Cause;
using Due = LossRecovery::Due;

class LossRecoveryTest : public ::testing::Test {
 protected:
  LossRecoveryTest() {
    attributes.timeout = 14;
    attributes.retry_count = 1;
    recovery.start(attributes);
  }
  /// Ten packets are in flight from `una` on.
  void send_ten() {
    recovery.flight_begins(now, attributes.timeout);
    next = top = una + 10;
  }
  bool answer_one(bool may_answer_probe = true) {
    ++una;
    return recovery.progress(una, next > una, may_answer_probe, now, attributes);
  }
  void go_back(Cause cause) {
    next = una;
    recovery.went_back(cause, now);
  }
  Due expire() {
    now = recovery.deadline();
    return recovery.expire(now);
  }
  void expect_whole() const { EXPECT_STREQ(recovery.broken_invariant(una, next, top), nullptr); }

  Attributes attributes;
  LossRecovery recovery;
  TimePoint now{milliseconds(100)};
  Psn una = Psn::first(5);
  Psn next = una;
  Psn top = una;
};

TEST_F(LossRecoveryTest, FurtherSignsOfOneLossAreNoNewsUntilSomethingComes) {
  send_ten();
  EXPECT_TRUE(recovery.is_news());
  EXPECT_TRUE(recovery.nak_is_news(now));
  go_back(Cause::loss);
  EXPECT_FALSE(recovery.is_news());
  EXPECT_FALSE(recovery.nak_is_news(now + microseconds(999)));
  EXPECT_TRUE(recovery.nak_is_news(now + milliseconds(1))) << "the peer asks for it once more";
  expect_whole();
  send_ten();
  answer_one();
  EXPECT_TRUE(recovery.is_news());
  expect_whole();
}

TEST_F(LossRecoveryTest, AfterATimeoutAnySignIsNews) {
  send_ten();
  go_back(Cause::loss);
  send_ten();
  go_back(Cause::timeout);
  EXPECT_TRUE(recovery.is_news());
}

TEST_F(LossRecoveryTest, ToWaitForAReceiveSaysNothingOfLosses) {
  send_ten();
  go_back(Cause::loss);
  go_back(Cause::receiver_not_ready);
  EXPECT_FALSE(recovery.is_news());
}

TEST_F(LossRecoveryTest, AfterAWaitForAReceiveOnePacketAsksForIt) {
  send_ten();
  go_back(Cause::receiver_not_ready);
  expect_whole();
  EXPECT_TRUE(recovery.may_send());
  recovery.flight_begins(now, attributes.timeout);
  EXPECT_TRUE(recovery.packet_sent(now));
  next = una + 1;
  EXPECT_FALSE(recovery.may_send());
  expect_whole();
  answer_one();
  EXPECT_TRUE(recovery.idle());
  EXPECT_FALSE(recovery.packet_sent(now));
}

TEST_F(LossRecoveryTest, BacksOffWhenThreeProbesGoUnanswered) {
  send_ten();
  for (const Due due : {Due::nothing, Due::nothing, Due::back_off}) {
    EXPECT_TRUE(recovery.may_send());
    EXPECT_EQ(expire(), due);
    EXPECT_FALSE(recovery.idle());
    EXPECT_TRUE(recovery.take_probe());
    EXPECT_FALSE(recovery.take_probe()) << "it is sent once";
    recovery.probe_sent(una);
    expect_whole();
  }
  EXPECT_FALSE(recovery.may_send());
  answer_one();
  EXPECT_TRUE(recovery.may_send());
  EXPECT_TRUE(recovery.idle());
  expect_whole();
}

TEST_F(LossRecoveryTest, GoingBackEndsTheBackOff) {
  send_ten();
  while (recovery.may_send()) expire();
  go_back(Cause::timeout);
  EXPECT_TRUE(recovery.idle());
  EXPECT_EQ(recovery.deadline(), kNever);
  expect_whole();
}

// Without an ACK timeout nothing is sent again: what the peer lacks it finds out from the next packet only.
TEST_F(LossRecoveryTest, WithoutTimeoutOnePacketAfterTheOtherMayGo) {
  attributes.timeout = 0;
  recovery.start(attributes);
  send_ten();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(expire(), Due::back_off);
    EXPECT_FALSE(recovery.take_probe());
    EXPECT_TRUE(recovery.may_send());
    EXPECT_FALSE(recovery.idle());
    expect_whole();
    EXPECT_FALSE(recovery.packet_sent(now));
    EXPECT_FALSE(recovery.may_send());
    expect_whole();
  }
}

// Where a round trip takes longer than the first probe waits, every answer follows a probe.
TEST_F(LossRecoveryTest, LearnsThatAPathIsSlow) {
  constexpr milliseconds kRoundTrip{20};
  int probes = 0, last_probes = 0;
  for (int i = 0; i < 10; ++i, last_probes = std::exchange(probes, 0)) {
    const TimePoint answer = now + kRoundTrip;
    send_ten();
    recovery.time_packet(una, now);
    for (; recovery.deadline() < answer; ++probes) {
      expire();
      if (recovery.take_probe()) recovery.probe_sent(una);
    }
    now = answer;
    una = next;
    recovery.progress(una, false, true, now, attributes);
    expect_whole();
  }
  EXPECT_EQ(last_probes, 0);
}

TEST_F(LossRecoveryTest, ATrueSampleTakesThePlaceOfABound) {
  for (const bool is_repeated : {true, false}) {
    send_ten();
    recovery.time_packet(una, now);
    now += is_repeated ? milliseconds(50) : milliseconds(1);
    if (is_repeated) recovery.probe_sent(una);
    una = next;
    recovery.progress(una, false, true, now, attributes);
    send_ten();
    EXPECT_EQ(recovery.deadline(), now + (is_repeated ? recovery.local_timeout() : 4 * milliseconds(1)));
  }
}

TEST_F(LossRecoveryTest, AProbeOfAnEarlierPacketDoesNotSpoilASample) {
  send_ten();
  recovery.time_packet(una + 4, now);
  recovery.probe_sent(una);
  now += milliseconds(5);
  una = next;
  recovery.progress(una, false, true, now, attributes);
  send_ten();
  EXPECT_EQ(recovery.deadline(), now + 4 * milliseconds(5));
}

TEST_F(LossRecoveryTest, ALossDoesNotMakeAFastPathSlow) {
  send_ten();
  recovery.time_packet(una, now);
  now += milliseconds(1);
  una = next;
  recovery.progress(una, false, true, now, attributes);
  send_ten();
  recovery.time_packet(una, now);
  expire();
  recovery.probe_sent(una);
  una = next;
  recovery.progress(una, false, true, now, attributes);
  send_ten();
  EXPECT_EQ(recovery.deadline(), now + 4 * milliseconds(1));
}

TEST_F(LossRecoveryTest, AProbeThatIsAnsweredAloneTellsThatTheTailIsLost) {
  send_ten();
  recovery.probe_sent(una);
  EXPECT_TRUE(answer_one());
  recovery.probe_sent(una);
  EXPECT_FALSE(answer_one(false)) << "it cannot be its answer";
  recovery.probe_sent(una);
  ++una;
  EXPECT_FALSE(answer_one()) << "the peer has more than the probe";
  recovery.probe_sent(una);
  una = next.previous();
  EXPECT_FALSE(answer_one()) << "there is no tail";
}

TEST_F(LossRecoveryTest, ProbesWaitForFourRoundTripsOfPacketsSentOnce) {
  send_ten();
  recovery.time_packet(una, now);
  recovery.time_packet(una + 1, now + milliseconds(50));  // one at a time
  now += milliseconds(5);
  answer_one();
  EXPECT_EQ(recovery.deadline(), now + milliseconds(20));
  recovery.time_packet(una, now);
  recovery.probe_sent(una);  // whose answer will it be?
  now += milliseconds(50);
  answer_one();
  EXPECT_EQ(recovery.deadline(), now + milliseconds(20));
  recovery.time_packet(una, now);
  recovery.answered_earlier(una + 1);
  now += milliseconds(50);
  answer_one();
  EXPECT_EQ(recovery.deadline(), now + milliseconds(20));
}

TEST_F(LossRecoveryTest, ResetForgetsEverything) {
  send_ten();
  while (recovery.may_send()) expire();
  recovery.reset();
  una = next = top;
  EXPECT_TRUE(recovery.idle());
  EXPECT_EQ(recovery.deadline(), kNever);
  expect_whole();
}

// A check that never fires would check nothing.
TEST_F(LossRecoveryTest, TellsWhatIsBroken) {
  next = top = una + 10;
  EXPECT_NE(recovery.broken_invariant(una, next, top), nullptr) << "no timer runs";
  recovery.flight_begins(now, attributes.timeout);
  expect_whole();
  recovery.probe_sent(una + 1);
  EXPECT_NE(recovery.broken_invariant(una, next, top), nullptr) << "a probe for another packet";
  recovery.went_back(Cause::loss, now);
  recovery.flight_begins(now, attributes.timeout);
  recovery.time_packet(next, now);
  EXPECT_NE(recovery.broken_invariant(una, next, top), nullptr) << "a packet is timed that was not sent";
  recovery.went_back(Cause::loss, now);
  EXPECT_NE(recovery.broken_invariant(top, top, top), nullptr) << "recovers with nothing outstanding";
  recovery.went_back(Cause::receiver_not_ready, now);
  recovery.flight_begins(now, attributes.timeout);
  EXPECT_NE(recovery.broken_invariant(una, next, top), nullptr) << "asks for a receive behind other packets";
}

}  // namespace
}  // namespace softrnic::ib
