// What is sent, and how often.
#include "cm/transmission.h"

#include "base/reason_id.h"
#include "tests/unit/cm/parts.h"

namespace softrnic::cm {
namespace {

class TransmissionTest : public Parts {
 protected:
  const mad::Mad rep = encode(Rep{}, 1), rtu = encode(Rtu{}, 1);
};

TEST_F(TransmissionTest, RepeatsInTimeUntilItWasOftenEnough) {
  Connection& connection = add(1);
  connection.active = true;
  connection.max_retries = 2;
  connection.answer_within = std::chrono::seconds(1);
  transmission.send_until_answered(connection, rep, now);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(connection.due, now + std::chrono::seconds(1));
    EXPECT_TRUE(transmission.repeat_in_time(connection, now = connection.due));
  }
  EXPECT_FALSE(transmission.repeat_in_time(connection, now = connection.due));
  EXPECT_EQ(sent(), Messages({Message::rep, Message::rep, Message::rep}));
}

TEST_F(TransmissionTest, AnUnprovenPeerGetsThreeForEachOfItsOwn) {
  Connection& connection = add(1);
  transmission.send(connection, rep);
  EXPECT_TRUE(transmission.repeat(connection));
  EXPECT_TRUE(transmission.repeat(connection));
  EXPECT_FALSE(transmission.repeat(connection));
  ASSERT_EQ(host.reasons.size(), 1U);
  EXPECT_EQ(host.reasons[0].id, ReasonId::cm_unproven);
  ++connection.datagrams_in;
  EXPECT_TRUE(transmission.repeat(connection));
  for (int i = 0; i < 10; ++i) transmission.repeat(connection);
  EXPECT_EQ(sent().size(), 6U);
  connection.proven = true;
  EXPECT_TRUE(transmission.repeat(connection));
}

TEST_F(TransmissionTest, WhatMayNotBeSentIsOneWaitAsLongAsAllRepetitions) {
  Connection& connection = add(1);
  connection.max_retries = 15;
  connection.answer_within = std::chrono::seconds(1);
  transmission.send_until_answered(connection, rep, now);
  const TimePoint begin = now;
  int turns = 0;
  do now = connection.due;
  while (transmission.repeat_in_time(connection, now) && ++turns < 100);
  EXPECT_EQ(now - begin, std::chrono::seconds(16));
  EXPECT_EQ(turns, 3) << "two repetitions, and the wait";
  EXPECT_EQ(sent().size(), 3U);
}

TEST_F(TransmissionTest, AnRtuIsSentThreeTimes) {
  Connection& connection = add(1);
  connection.active = true;
  connection.answer_within = std::chrono::seconds(1);
  transmission.send_until_answered(connection, rtu, now);
  while (connection.due != kNever) {
    now = connection.due;
    table.set_due(connection, kNever);  // as a deadline that has passed
    transmission.repeat_rtu(connection, now);
  }
  EXPECT_EQ(sent(), Messages({Message::rtu, Message::rtu, Message::rtu}));
}

}  // namespace
}  // namespace softrnic::cm
