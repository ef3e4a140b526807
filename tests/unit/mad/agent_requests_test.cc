// What agents send: which responses come back to whom, and what is sent again.
#include <gtest/gtest.h>

#include <cerrno>

#include "base/reason_id.h"
#include "mad/agents.h"
#include "tests/unit/mad/agents_fixture.h"

namespace softrnic::mad {
namespace {

using namespace std::chrono_literals;

// ---- sending

TEST_F(AgentsTest, ARequestHasItsAgentInItsTransaction) {
  const auto agent = add(first, takes(kPing, {}));
  const auto other = add(second, takes(kPing, {}));
  ASSERT_EQ(send(first, agent, vendor_mad(Method::get, 0xaabbccdd'11223344), 100), 0);
  ASSERT_EQ(send(second, other, vendor_mad(Method::get, 0xaabbccdd'11223344), 100), 0);
  const std::uint64_t one = header_of(sent[0].mad).transaction, two = header_of(sent[1].mad).transaction;
  EXPECT_EQ(one & UINT32_MAX, 0x11223344U);
  EXPECT_NE(one >> 32, 0xaabbccddU);
  EXPECT_NE(one, two);
  EXPECT_LT(one >> 32, 1U << 24);
}

TEST_F(AgentsTest, AResponseKeepsTheTransactionOfItsRequest) {
  const auto agent = add(first, takes(kPing, {Method::get}));
  ASSERT_EQ(send(first, agent, vendor_mad(Method::get_response, 0xaabbccdd'11223344)), 0);
  EXPECT_EQ(header_of(sent[0].mad).transaction, 0xaabbccdd'11223344);
  EXPECT_EQ(agents.deadline(), kNever);
}

TEST_F(AgentsTest, AShortMessageIsFilledWithZeros) {
  const auto agent = add(first, takes(kPerformance, {}));
  const Mad mad = make_mad(kPerformance, Method::get, 1);
  EXPECT_EQ(send(first, agent, Bytes(mad).first(35)), EINVAL);
  ASSERT_EQ(send(first, agent, Bytes(mad).first(36)), 0);
  EXPECT_EQ(sent.back().mad[255], std::byte{});
  std::vector<std::byte> longer(mad.begin(), mad.end());
  longer.push_back({});
  EXPECT_EQ(send(first, agent, longer), EINVAL);
}

TEST_F(AgentsTest, AnAgentWithRmppSendsNoClassWithoutIt) {
  Registration registration = takes(kSa, {}, 2);
  registration.rmpp_version = 1;
  const auto agent = add(first, registration);
  EXPECT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 1)), EINVAL);
  EXPECT_EQ(send(first, agent, make_mad(kSa, Method::get, 1, 2)), 0);
}

TEST_F(AgentsTest, WhoIsNotThereSendsNothing) {
  EXPECT_EQ(send(first, 0, make_mad(kPerformance, Method::get, 1)), EIO);
  EXPECT_EQ(send(first, 32, make_mad(kPerformance, Method::get, 1)), EIO);
  const auto agent = add(first, takes(kPerformance, {}));
  EXPECT_EQ(send(second, agent, make_mad(kPerformance, Method::get, 1)), EIO);
  ASSERT_TRUE(agents.remove_agent(first, agent));
  EXPECT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 1)), EIO);
  EXPECT_EQ(agents.remove_agent(first, agent).error().error, EINVAL);
}

TEST_F(AgentsTest, AResponseMayComeWhileTheRequestIsBeingSent) {
  const auto agent = add(first, takes(kPerformance, {}));
  answers_at_once = true;
  ASSERT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 1), 100), 0);
  EXPECT_EQ(header_of(take(first).message).method, Method::get_response);
  EXPECT_EQ(agents.deadline(), kNever);
}

TEST_F(AgentsTest, TwoLikeRequestsAreOneTooMany) {
  const auto agent = add(first, takes(kPerformance, {}));
  ASSERT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 1), 100), 0);
  EXPECT_EQ(send(first, agent, make_mad(kPerformance, Method::set, 1), 100), EINVAL);
  EXPECT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 2), 100), 0);
  EXPECT_EQ(send(first, agent, vendor_mad(Method::get, 1), 100), 0) << "another class";
  EXPECT_EQ(send(first, agent, make_mad(kPerformance, Method::get_response, 1), 100), 0) << "no request";
}

// ---- responses

TEST_F(AgentsTest, AResponseGoesToWhoAsked) {
  const auto agent = add(first, takes(kPing, {}));
  add(second, takes(kPing, {Method::get}));
  ASSERT_EQ(send(first, agent, vendor_mad(Method::get, 9), 100), 0);
  EXPECT_EQ(receive(response_to_last()), Agents::Receipt::taken);
  EXPECT_EQ(take(first).message.size(), kMadBytes);
  EXPECT_EQ(agents.deadline(), kNever);
  EXPECT_EQ(receive(response_to_last()), Agents::Receipt::dropped) << "it has come already";
  EXPECT_EQ(agents.front(second), nullptr);
}

TEST_F(AgentsTest, AResponseThatNobodyWaitsForIsDropped) {
  const auto agent = add(first, takes(kPing, {}));
  ASSERT_EQ(send(first, agent, vendor_mad(Method::get, 9), 0), 0);
  EXPECT_EQ(receive(response_to_last()), Agents::Receipt::dropped);
  ASSERT_EQ(send(first, agent, vendor_mad(Method::get, 9), 100), 0);
  Mad other_class = make_mad(kPerformance, Method::get_response, header_of(sent.back().mad).transaction);
  EXPECT_EQ(receive(other_class), Agents::Receipt::dropped);
  const Mad response = response_to_last();
  agents.close(first);
  EXPECT_EQ(receive(response), Agents::Receipt::unwanted);
}

TEST_F(AgentsTest, AResponseComesBackTheWayOfItsRequest) {
  agents.set_rules({.has_qp0 = true, .lmc = 1});
  const auto agent = add(first, takes(kPerformance, {}));
  peer.path_bits = 1;
  ASSERT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 1), 100), 0);
  peer.path_bits = 0;
  EXPECT_EQ(receive(response_to_last()), Agents::Receipt::dropped) << "to another LID of this port";
  peer.path_bits = 3;
  EXPECT_EQ(receive(response_to_last()), Agents::Receipt::taken) << "LMC 1: one bit counts";
  peer.has_grh = true;
  peer.gid_index = 2;
  ASSERT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 1), 100), 0);
  peer.gid_index = 3;
  EXPECT_EQ(receive(response_to_last()), Agents::Receipt::dropped);
  peer.has_grh = false;
  EXPECT_EQ(receive(response_to_last()), Agents::Receipt::dropped);
  peer.has_grh = true;
  peer.gid_index = 2;
  EXPECT_EQ(receive(response_to_last()), Agents::Receipt::taken);
}

TEST_F(AgentsTest, OfDirectedRoutesNoAddressIsCompared) {
  const auto agent = add(first, takes(ManagementClass::subnet_directed_route, {}));
  ASSERT_EQ(send(first, agent, make_mad(ManagementClass::subnet_directed_route, Method::get, 1), 100), 0);
  EXPECT_EQ(sent.back().queue, Queue::smi);
  peer.has_grh = true;
  EXPECT_EQ(receive(response_to_last(), Queue::smi), Agents::Receipt::taken);
}

TEST_F(AgentsTest, TrapRepressAnswersATrap) {
  const auto agent = add(first, takes(ManagementClass::subnet_lid_routed, {}));
  ASSERT_EQ(send(first, agent, make_mad(ManagementClass::subnet_lid_routed, Method::trap, 1), 100), 0);
  Mad answer = sent.back().mad;
  answer[3] = std::byte{0x07};
  EXPECT_EQ(receive(answer, Queue::smi), Agents::Receipt::taken);
}

TEST_F(AgentsTest, WhoDoesRmppItselfGetsEverySegment) {
  Registration registration = takes(kSa, {}, 2);
  registration.rmpp_version = 1;
  registration.does_rmpp_itself = true;
  const auto agent = add(first, registration);
  ASSERT_EQ(send(first, agent, make_mad(kSa, Method::get, 1, 2), 100), 0);
  Mad segment = response_to_last();
  segment[26] = std::byte{1};
  EXPECT_EQ(receive(segment), Agents::Receipt::taken);
  EXPECT_EQ(receive(segment), Agents::Receipt::taken);
  segment[26] = std::byte{0};
  EXPECT_EQ(receive(segment), Agents::Receipt::dropped);
}

// ---- time

TEST_F(AgentsTest, ARequestIsSentAgainAndThenComesBack) {
  const auto agent = add(first, takes(kPerformance, {}));
  ASSERT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 77), 10, 2), 0);
  EXPECT_EQ(agents.deadline(), now + 10ms);
  now += 9ms;
  agents.advance(now);
  EXPECT_EQ(sent.size(), 1U);
  for (std::size_t times = 2; times <= 3; ++times) {
    now = agents.deadline();
    agents.advance(now);
    ASSERT_EQ(sent.size(), times);
    EXPECT_EQ(sent.back().mad, sent.front().mad);
  }
  EXPECT_EQ(agents.front(first), nullptr);
  now += 10ms;
  agents.advance(now);
  EXPECT_EQ(sent.size(), 3U);
  const Received back = take(first);
  EXPECT_TRUE(back.timed_out);
  EXPECT_EQ(back.agent, agent);
  EXPECT_EQ(back.from, peer);
  EXPECT_EQ(back.timeout_ms, 10U);
  EXPECT_EQ(back.retries, 2U);
  EXPECT_EQ(back.message.size(), kHeaderBytes);
  EXPECT_EQ(header_of(back.message).transaction, header_of(sent[0].mad).transaction);
  EXPECT_EQ(agents.deadline(), kNever);
  EXPECT_EQ(reasons, std::vector{ReasonId::mad_no_answer});
}

TEST_F(AgentsTest, TheEarliestDeadlineIsTold) {
  const auto agent = add(first, takes(kPerformance, {}));
  ASSERT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 1), 100), 0);
  ASSERT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 2), 10), 0);
  EXPECT_EQ(agents.deadline(), now + 10ms);
  now += 10ms;
  agents.advance(now);
  EXPECT_EQ(header_of(take(first).message).transaction & UINT32_MAX, 2U);
  EXPECT_EQ(agents.deadline(), TimePoint{} + 100ms);
}

TEST_F(AgentsTest, AnAgentThatEndsTakesItsRequestsAlong) {
  const auto agent = add(first, takes(kPerformance, {}));
  const auto other = add(first, takes(kPerformance, {}));
  ASSERT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 1), 10), 0);
  ASSERT_EQ(send(first, other, make_mad(kPerformance, Method::get, 1), 20), 0);
  ASSERT_TRUE(agents.remove_agent(first, agent));
  now += 15ms;
  agents.advance(now);
  EXPECT_EQ(agents.front(first), nullptr);
  now += 5ms;
  agents.advance(now);
  EXPECT_EQ(take(first).agent, other);
  agents.close(first);
  EXPECT_EQ(agents.deadline(), kNever);
}

TEST_F(AgentsTest, RequestsThatWaitAreCounted) {
  const auto agent = add(first, takes(kPerformance, {}));
  for (std::size_t i = 0; i < Agents::kPendingOfAgent; ++i)
    ASSERT_EQ(send(first, agent, make_mad(kPerformance, Method::get, i), 10), 0);
  EXPECT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 0xffffffff), 10), ENOMEM);
  EXPECT_EQ(receive(response_to_last()), Agents::Receipt::taken);
  EXPECT_EQ(send(first, agent, make_mad(kPerformance, Method::get, 0xffffffff), 10), 0);
}

}  // namespace
}  // namespace softrnic::mad
