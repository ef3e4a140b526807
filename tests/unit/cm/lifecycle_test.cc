// IDs come about, wait and end.
#include "cm/lifecycle.h"

#include <cerrno>

#include "tests/unit/cm/parts.h"

namespace softrnic::cm {
namespace {

class LifecycleTest : public Parts {};

TEST_F(LifecycleTest, ANumberIsNobodyElses) {
  add(7);
  listeners.add(Id(8), ServiceId(1), ~std::uint64_t{0});
  host.numbers = {0, 7, 8, 9};
  const auto id = lifecycle.free_id();
  ASSERT_TRUE(id);
  EXPECT_EQ(*id, Id(9));
  for (std::uint32_t number : {1U, 2U, 3U}) add(number);
  const auto none = lifecycle.free_id();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().error, EMFILE);
}

TEST_F(LifecycleTest, TheHostClaimsWhatItKnowsInTheRightState) {
  Connection& connection = add(1);
  lifecycle.enter(connection, State::req_received);
  EXPECT_TRUE(lifecycle.claim(Id(1), {State::rep_sent, State::req_received}));
  EXPECT_EQ(lifecycle.claim(Id(1), {State::rep_sent}).error().error, EINVAL);
  EXPECT_EQ(lifecycle.claim(Id(2), {State::req_received}).error().error, ENOENT);
  connection.hidden = true;
  EXPECT_EQ(lifecycle.claim(Id(1), {State::req_received}).error().error, ENOENT);
}

TEST_F(LifecycleTest, APassiveConnectionIsHalfOpenUntilItsPeerIsProven) {
  Connection& connection = add(1);
  lifecycle.enter(connection, State::req_received);
  EXPECT_EQ(table.burden(Burden::half_open), 1U);
  lifecycle.prove(connection);
  EXPECT_EQ(table.burden(Burden::half_open), 0U);
  lifecycle.enter(connection, State::rep_sent);
  EXPECT_EQ(table.burden(Burden::half_open), 0U);
}

TEST_F(LifecycleTest, TimewaitOfARefusalLastsUntilThePeerWillHardlyRepeatItself) {
  Connection& connection = add(1);
  connection.refused = true;
  connection.life_time = std::chrono::seconds(1);
  connection.peer_interval = std::chrono::seconds(4);
  connection.sent = encode(Rtu{}, 1);
  lifecycle.enter_timewait(connection, now);
  EXPECT_EQ(connection.due, now + std::chrono::seconds(2));
  EXPECT_EQ(table.burden(Burden::refused), 1U);
  connection.sent = encode(Rej{}, 1);
  lifecycle.enter_timewait(connection, now);
  EXPECT_EQ(connection.due, now + std::chrono::seconds(5));
}

TEST_F(LifecycleTest, WhatTheHostForgotEndsWithoutAnEvent) {
  lifecycle.conclude(add(1), {.kind = EventKind::rejected});
  ASSERT_EQ(host.events.size(), 1U);
  EXPECT_EQ(host.events[0].id, Id(1));
  EXPECT_NE(table.find(1), nullptr) << "the host has it still";
  Connection& hidden = add(2);
  hidden.hidden = true;
  lifecycle.tell(hidden, {.kind = EventKind::delayed});
  lifecycle.conclude(hidden, {.kind = EventKind::rejected});
  EXPECT_EQ(host.events.size(), 1U);
  EXPECT_EQ(table.find(2), nullptr);
}

}  // namespace
}  // namespace softrnic::cm
