// Agents of a port: what can be registered, and who gets the requests that come.
#include "mad/agents.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/mad/agents_fixture.h"

namespace softrnic::mad {
namespace {

using namespace std::chrono_literals;

// ---- registering

TEST_F(AgentsTest, NumbersBeginAtZeroAndAreUsedAgain) {
  EXPECT_EQ(add(first, takes(kPerformance, {})), 0U);
  EXPECT_EQ(add(first, takes(kPerformance, {})), 1U);
  EXPECT_EQ(add(second, takes(kPerformance, {})), 0U);
  ASSERT_TRUE(agents.remove_agent(first, 0));
  EXPECT_EQ(add(first, takes(kPerformance, {})), 0U);
}

TEST_F(AgentsTest, APortThatWasOpenedOnceHas32) {
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(add(first, takes(kPerformance, {})), i);
  EXPECT_EQ(add_error(first, takes(kPerformance, {})), ENOMEM);
  EXPECT_EQ(add_error(second, takes(kPerformance, {})), 0);
}

TEST_F(AgentsTest, ClassQueueVersionAndOuiMustFit) {
  Registration wrong = takes(kPerformance, {});
  wrong.queue = Queue::smi;
  EXPECT_EQ(add_error(first, wrong), EINVAL);
  wrong = takes(ManagementClass::subnet_lid_routed, {});
  wrong.queue = Queue::gsi;
  EXPECT_EQ(add_error(first, wrong), EINVAL);
  EXPECT_EQ(add_error(first, takes(kPerformance, {}, 0x83)), EINVAL);
  EXPECT_EQ(add_error(first, takes(kPerformance, {}, 0x82)), 0);
  EXPECT_EQ(add_error(first, takes(ManagementClass{0x50}, {})), EINVAL);
  EXPECT_EQ(add_error(first, takes(ManagementClass{0x4f}, {})), 0);
  EXPECT_EQ(add_error(first, takes(ManagementClass::subnet_directed_route, {})), 0);
  wrong = takes(kPing, {});
  wrong.oui = 0;
  EXPECT_EQ(add_error(first, wrong), EINVAL);
  wrong.oui = 0x1001405;
  EXPECT_EQ(add_error(first, wrong), EINVAL);
}

TEST_F(AgentsTest, RmppIsOfItsClassesAlone) {
  Registration registration = takes(kPerformance, {});
  registration.rmpp_version = 1;
  EXPECT_EQ(add_error(first, registration), EINVAL);
  for (const unsigned number : {0x03, 0x06, 0x10, 0x12, 0x30, 0x4f}) {
    registration = takes(ManagementClass(number), {});
    registration.rmpp_version = 1;
    EXPECT_EQ(add_error(first, registration), 0) << number;
    registration.rmpp_version = 2;
    EXPECT_EQ(add_error(first, registration), EINVAL) << number;
  }
}

TEST_F(AgentsTest, WithoutAClassItOnlySends) {
  Registration registration;
  EXPECT_EQ(add_error(first, registration), 0);
  registration.does_rmpp_itself = true;
  EXPECT_EQ(add_error(first, registration), EINVAL);
}

TEST_F(AgentsTest, AMethodIsOneAgentsAlone) {
  const auto serves = takes(kPing, {Method::get, Method::send});
  ASSERT_EQ(add_error(first, serves), 0);
  EXPECT_EQ(add_error(second, takes(kPing, {Method::send})), EINVAL);
  EXPECT_EQ(add_error(second, takes(kPing, {Method::set})), 0);
  EXPECT_EQ(add_error(second, takes(kPing, {Method::get}, 2)), 0) << "another version";
  Registration other = serves;
  other.oui = 0x2c9;
  EXPECT_EQ(add_error(second, other), 0) << "another vendor";
  EXPECT_EQ(add_error(second, takes(kPing, {})), 0) << "a client, which takes no requests";
  agents.close(first);
  EXPECT_EQ(add_error(second, takes(kPing, {Method::send})), 0);
}

TEST_F(AgentsTest, WhatWasRefusedLeavesNothingBehind) {
  ASSERT_EQ(add_error(first, takes(kPing, {Method::send})), 0);
  ASSERT_EQ(add_error(second, takes(kPing, {Method::get, Method::send})), EINVAL);
  EXPECT_EQ(add_error(second, takes(kPing, {Method::get})), 0);
}

TEST_F(AgentsTest, AVendorClassHasEightOuis) {
  Registration registration = takes(kPing, {Method::get});
  for (std::uint32_t oui = 1; oui <= 8; ++oui) {
    registration.oui = oui;
    EXPECT_EQ(add_error(first, registration), 0);
  }
  registration.oui = 9;
  EXPECT_EQ(add_error(first, registration), ENOMEM);
  ASSERT_TRUE(agents.remove_agent(first, 3));
  EXPECT_EQ(add_error(first, registration), 0);
}

TEST_F(AgentsTest, APortOfEthernetHasNoQp0) {
  agents.set_rules({.has_qp0 = false, .lmc = 0});
  EXPECT_EQ(add_error(first, takes(ManagementClass::subnet_lid_routed, {})), EPROTONOSUPPORT);
  EXPECT_EQ(add_error(first, takes(kPerformance, {})), 0);
}

// ---- requests that come

TEST_F(AgentsTest, ARequestGoesToWhoRegisteredForIt) {
  const auto server = add(first, takes(kPing, {Method::get}));
  add(second, takes(kPing, {Method::set}));
  EXPECT_EQ(receive(vendor_mad(Method::get, 5)), Agents::Receipt::taken);
  EXPECT_EQ(agents.front(second), nullptr);
  const Received got = take(first);
  EXPECT_EQ(got.agent, server);
  EXPECT_EQ(got.from, peer);
  EXPECT_FALSE(got.timed_out);
  EXPECT_EQ(got.message.size(), kMadBytes);
  EXPECT_EQ(header_of(got.message).transaction, 5U);
}

TEST_F(AgentsTest, WhatNobodyRegisteredForIsToldToTheCaller) {
  add(first, takes(kPing, {Method::get}));
  EXPECT_EQ(receive(vendor_mad(Method::set, 5)), Agents::Receipt::unwanted);
  EXPECT_EQ(receive(vendor_mad(Method::get, 5, 0x2c9)), Agents::Receipt::unwanted);
  EXPECT_EQ(receive(make_mad(kPerformance, Method::get, 5)), Agents::Receipt::unwanted);
  EXPECT_EQ(agents.front(first), nullptr);
}

TEST_F(AgentsTest, EachQueuePairTakesItsOwnClasses) {
  add(first, takes(ManagementClass::subnet_lid_routed, {Method::trap}));
  add(first, takes(kPerformance, {Method::get}));
  const Mad trap = make_mad(ManagementClass::subnet_lid_routed, Method::trap, 1);
  EXPECT_EQ(receive(trap, Queue::gsi), Agents::Receipt::dropped);
  EXPECT_EQ(receive(trap, Queue::smi), Agents::Receipt::taken);
  EXPECT_EQ(receive(make_mad(kPerformance, Method::get, 1), Queue::smi), Agents::Receipt::dropped);
  const ManagementClass communication = ManagementClass::communication;
  EXPECT_EQ(receive(make_mad(communication, Method::get, 1)), Agents::Receipt::dropped)
      << "but for ClassPortInfo all of it is sent";
  EXPECT_EQ(receive(make_mad(communication, Method::send, 1)), Agents::Receipt::unwanted);
}

TEST_F(AgentsTest, OtherBaseVersionsAndLengthsAreDropped) {
  add(first, takes(kPerformance, {Method::get}));
  Mad mad = make_mad(kPerformance, Method::get, 1);
  EXPECT_EQ(agents.receive(Queue::gsi, peer, Bytes(mad).first(200), now), Agents::Receipt::dropped);
  mad[0] = std::byte{0x80};
  EXPECT_EQ(receive(mad), Agents::Receipt::dropped);
}

TEST_F(AgentsTest, OnlyTheFirstMessageIsAnnounced) {
  add(first, takes(kPing, {Method::get}));
  for (std::uint64_t i = 0; i < 3; ++i) receive(vendor_mad(Method::get, i));
  EXPECT_EQ(announced, std::vector{first});
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(header_of(take(first).message).transaction, i);
  receive(vendor_mad(Method::get, 3));
  EXPECT_EQ(announced.size(), 2U);
}

TEST_F(AgentsTest, WhoDoesNotReadLosesWhatComes) {
  add(first, takes(kPing, {Method::get}));
  add(second, takes(kPing, {Method::set}));
  for (std::size_t i = 0; i < Agents::kMostWaiting; ++i)
    ASSERT_EQ(receive(vendor_mad(Method::get, i)), Agents::Receipt::taken);
  EXPECT_EQ(receive(vendor_mad(Method::get, 0)), Agents::Receipt::dropped);
  EXPECT_EQ(reasons, std::vector{ReasonId::mad_agent_slow});
  EXPECT_EQ(receive(vendor_mad(Method::set, 0)), Agents::Receipt::taken) << "others are not concerned";
  take(first);
  EXPECT_EQ(receive(vendor_mad(Method::get, 0)), Agents::Receipt::taken);
}

// ---- what nobody takes

TEST(UnwantedResponse, TellsGetAndSetThatNobodyIsThere) {
  Mad request = make_mad(kPerformance, Method::get, 0x1122334455667788);
  request[100] = std::byte{5};
  const auto response = unwanted_response(request);
  ASSERT_TRUE(response);
  const Header header = header_of(*response);
  EXPECT_EQ(header.method, Method::get_response);
  EXPECT_EQ(header.status, 0x000c);
  EXPECT_EQ(header.transaction, 0x1122334455667788U);
  EXPECT_EQ((*response)[100], std::byte{5});
  EXPECT_EQ(
      header_of(*unwanted_response(make_mad(ManagementClass::subnet_directed_route, Method::set, 1))).status,
      0x800c);
}

TEST(UnwantedResponse, AnswersNothingElse) {
  for (const Method method : {Method::send, Method::trap, Method::report, Method::get_response})
    EXPECT_FALSE(unwanted_response(make_mad(kPerformance, method, 1)));
  EXPECT_FALSE(unwanted_response({}));
}

}  // namespace
}  // namespace softrnic::mad
