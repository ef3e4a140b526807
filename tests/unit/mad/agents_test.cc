// Agents of a port: who gets what, what is sent again, and what Linux' ib_mad and ib_umad refuse.
#include "mad/agents.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <string>

#include "mad/class_rules.h"

namespace softrnic::mad {
namespace {

using namespace std::chrono_literals;

constexpr ManagementClass kPing{0x32};  // of ibping, with OpenIB's OUI
constexpr std::uint32_t kOpenIb = 0x001405;
constexpr ManagementClass kSa = ManagementClass::subnet_administration;
constexpr ManagementClass kPerformance = ManagementClass::performance;

Mad make_mad(ManagementClass management_class, Method method, std::uint64_t transaction,
             std::uint8_t version = 1) {
  Mad mad{};
  Header header;
  header.management_class = management_class;
  header.class_version = version;
  header.method = method;
  header.transaction = transaction;
  encode_header(header, mad);
  return mad;
}

Mad vendor_mad(Method method, std::uint64_t transaction, std::uint32_t oui = kOpenIb) {
  Mad mad = make_mad(kPing, method, transaction);
  store_be24(&mad[37], oui);
  return mad;
}

Header header_of(Bytes message) {
  Mad mad{};
  std::copy(message.begin(), message.end(), mad.begin());
  return *parse_header(mad);
}

Registration takes(ManagementClass management_class, std::initializer_list<Method> methods,
                   std::uint8_t version = 1) {
  Registration registration;
  registration.queue = is_subnet_management(management_class) ? Queue::smi : Queue::gsi;
  registration.management_class = management_class;
  registration.class_version = version;
  if (has_oui(management_class)) registration.oui = kOpenIb;
  for (const Method method : methods) registration.methods.set(static_cast<std::size_t>(method));
  return registration;
}

class AgentsTest : public testing::Test, private AgentHost {
 protected:
  struct Sent {
    Queue queue;
    Peer to;
    Mad mad;
  };

  std::uint32_t add(OpenId open, const Registration& registration) {
    const auto added = agents.add_agent(open, registration);
    EXPECT_TRUE(added) << (added ? "" : describe(added.error().reason));
    return added ? *added : 99;
  }
  int add_error(OpenId open, const Registration& registration) {
    const auto added = agents.add_agent(open, registration);
    return added ? 0 : added.error().error;
  }
  int send(OpenId open, std::uint32_t agent, Bytes message, std::uint32_t timeout_ms = 0,
           std::uint32_t retries = 0) {
    const auto done = agents.send(
        open, agent, {.to = peer, .timeout_ms = timeout_ms, .retries = retries, .message = message}, now);
    return done ? 0 : done.error().error;
  }
  Agents::Receipt receive(const Mad& mad, Queue queue = Queue::gsi) {
    return agents.receive(queue, peer, mad, now);
  }
  /// What waits for the program that has opened the port; the test fails when nothing does.
  Received take(OpenId open) {
    const Received* const front = agents.front(open);
    EXPECT_NE(front, nullptr);
    if (front == nullptr) return {};
    Received taken = *front;
    agents.pop(open);
    return taken;
  }
  /// The response to the datagram that was sent last.
  Mad response_to_last() const {
    Mad mad = sent.back().mad;
    mad[3] = std::byte{0x81};
    return mad;
  }

  AgentIds ids;
  Agents agents{*this, ids, {.has_qp0 = true, .lmc = 0}};
  OpenId first = agents.open(), second = agents.open();
  TimePoint now{};
  Peer peer{.lid = 7};
  std::deque<Sent> sent;
  std::vector<OpenId> announced;
  std::vector<ReasonId> reasons;
  bool answers_at_once = false;

 private:
  void send(Queue queue, const Peer& to, Bytes mad) override {
    Sent& out = sent.emplace_back(Sent{queue, to, {}});
    std::copy(mad.begin(), mad.end(), out.mad.begin());
    if (answers_at_once) receive(response_to_last(), queue);
  }
  void received(OpenId open) override { announced.push_back(open); }
  void explain(const Reason& reason) override { reasons.push_back(reason.id); }
};

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
