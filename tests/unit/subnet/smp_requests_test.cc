#include "subnet/smp_requests.h"

#include <gtest/gtest.h>

#include <functional>

#include "mad/node_info.h"

namespace softrnic::subnet {
namespace {

using std::chrono::milliseconds;

struct Wire : DatagramPort {
  void send(const DatagramAddress& to, const mad::Mad& mad) override {
    EXPECT_TRUE(to.lid.is_permissive());
    EXPECT_EQ(to.qpn, kSmiQpn);
    sent.push_back(mad::decode<mad::Smp>(mad));
    if (on_sent) on_sent();
  }
  mad::Smp answer_to(std::size_t i) const {
    mad::Smp smp = sent[i];
    smp.method = mad::Method::get_response;
    smp.returning = true;
    return smp;
  }
  std::vector<mad::Smp> sent;
  std::function<void()> on_sent;
};

TimePoint at(int ms) { return TimePoint{} + milliseconds(ms); }

class SmpRequestsTest : public ::testing::Test {
 protected:
  SmpRequestsTest() : requests(wire, {2, milliseconds(10), 1}) {}
  void ask(std::uint8_t port, SmpTarget target = kNoTarget) {
    SmpRequest request = get_smp<mad::NodeInfo>(DirectedPath().then(port), port);
    request.target = target;
    requests.send(request, [this](const SmpResult& result) { results.push_back(result); });
  }
  Wire wire;
  SmpRequests requests;
  std::vector<SmpResult> results;
};

TEST_F(SmpRequestsTest, PutsABoundedNumberOnTheWire) {
  for (std::uint8_t port = 1; port <= 5; ++port) ask(port);
  EXPECT_TRUE(wire.sent.empty());
  requests.advance(at(0));
  ASSERT_EQ(wire.sent.size(), 2U);
  EXPECT_EQ(wire.sent[0].initial_path[1], 1);
  EXPECT_EQ(wire.sent[0].hop_count, 1);
  EXPECT_EQ(wire.sent[0].hop_pointer, 0);
  EXPECT_TRUE(wire.sent[0].dr_slid.is_permissive() && wire.sent[0].dr_dlid.is_permissive());
  EXPECT_EQ(requests.deadline(), at(10));
  EXPECT_TRUE(requests.receive(wire.answer_to(1)));
  requests.advance(at(1));
  EXPECT_EQ(wire.sent.size(), 3U);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(results[0].is_answered());
}

TEST_F(SmpRequestsTest, TakesAnswersToWhatWasAskedOnly) {
  ask(1);
  requests.advance(at(0));
  const mad::Smp good = wire.answer_to(0);
  const auto changed = [&](auto change) {
    mad::Smp smp = good;
    change(smp);
    return smp;
  };
  EXPECT_FALSE(requests.receive(changed([](mad::Smp& s) { ++s.transaction; })));
  EXPECT_FALSE(requests.receive(changed([](mad::Smp& s) { ++s.attribute; })));
  EXPECT_FALSE(requests.receive(changed([](mad::Smp& s) { ++s.modifier; })));
  EXPECT_FALSE(requests.receive(changed([](mad::Smp& s) { s.initial_path[1] = 9; })));
  EXPECT_FALSE(requests.receive(changed([](mad::Smp& s) { s.hop_count = 0; })));
  EXPECT_FALSE(requests.receive(changed([](mad::Smp& s) { s.hop_count = 255; })));
  EXPECT_FALSE(requests.receive(changed([](mad::Smp& s) { s.returning = false; })));
  EXPECT_FALSE(requests.receive(changed([](mad::Smp& s) { s.method = mad::Method::get; })));
  EXPECT_EQ(requests.counters().stray, 8U);
  // ib_umad puts its agent's number into the upper half.
  EXPECT_TRUE(requests.receive(changed([](mad::Smp& s) { s.transaction |= 0xabcd00000000; })));
  EXPECT_FALSE(requests.receive(good)) << "answered already";
  EXPECT_EQ(results.size(), 1U);
}

TEST_F(SmpRequestsTest, TriesAgainAndGivesUp) {
  ask(1);
  requests.advance(at(0));
  requests.advance(at(9));
  EXPECT_EQ(wire.sent.size(), 1U);
  requests.advance(at(10));
  ASSERT_EQ(wire.sent.size(), 2U);
  EXPECT_EQ(wire.sent[1].transaction, wire.sent[0].transaction);
  requests.advance(at(20));
  EXPECT_EQ(wire.sent.size(), 2U);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].outcome, SmpOutcome::no_answer);
  EXPECT_TRUE(requests.is_idle());
  EXPECT_EQ(requests.deadline(), kNever);
}

TEST_F(SmpRequestsTest, TellsOfRefusalsAndAsksTheBusyAgain) {
  ask(1);
  requests.advance(at(0));
  mad::Smp busy = wire.answer_to(0);
  busy.status = static_cast<std::uint16_t>(mad::Status::busy);
  EXPECT_TRUE(requests.receive(busy));
  EXPECT_TRUE(results.empty());
  requests.advance(at(10));
  ASSERT_EQ(wire.sent.size(), 2U);
  mad::Smp refused = wire.answer_to(1);
  refused.status = static_cast<std::uint16_t>(mad::Status::bad_method_attribute);
  EXPECT_TRUE(requests.receive(refused));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].outcome, SmpOutcome::refused);
  EXPECT_EQ(results[0].status, 0x000c);
}

TEST_F(SmpRequestsTest, DoesNotWaitForANodeAgainThatDidNotAnswer) {
  for (std::uint8_t port = 1; port <= 100; ++port) ask(port, SmpTarget(7));
  ask(101, SmpTarget(8));
  requests.advance(at(0));
  requests.advance(at(10));
  requests.advance(at(20));
  EXPECT_EQ(results.size(), 100U);
  ASSERT_EQ(wire.sent.size(), 5U) << "two, both again, and the one to another node";
  EXPECT_EQ(wire.sent.back().initial_path[1], 101);
  requests.clear();
  EXPECT_TRUE(requests.is_idle());
  ask(1, SmpTarget(7));
  requests.advance(at(30));
  EXPECT_EQ(wire.sent.size(), 6U);
}

TEST_F(SmpRequestsTest, HandlersMaySendAndDropAll) {
  requests.send(get_smp<mad::NodeInfo>({}), [this](const SmpResult&) {
    requests.clear();
    ask(3);
  });
  ask(2);
  requests.advance(at(0));
  requests.receive(wire.answer_to(0));
  requests.advance(at(0));
  ASSERT_EQ(wire.sent.size(), 3U);
  EXPECT_EQ(wire.sent[2].initial_path[1], 3);
  EXPECT_FALSE(requests.receive(wire.answer_to(1))) << "dropped";
}

// As the manager's own node does.
TEST_F(SmpRequestsTest, ARequestMayBeAnsweredWhileItIsSentAgain) {
  ask(1);
  ask(2);
  requests.advance(at(0));
  wire.on_sent = [this] { EXPECT_TRUE(requests.receive(wire.answer_to(wire.sent.size() - 1))); };
  requests.advance(at(10));
  EXPECT_EQ(wire.sent.size(), 4U);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_TRUE(results[0].is_answered() && results[1].is_answered());
  EXPECT_TRUE(requests.is_idle());
}

TEST_F(SmpRequestsTest, AllMayBeDroppedWhileOneIsSentAgain) {
  ask(1);
  ask(2);
  requests.advance(at(0));
  wire.on_sent = [this] { requests.clear(); };
  requests.advance(at(10));
  EXPECT_EQ(wire.sent.size(), 3U) << "the other one is no longer there";
  EXPECT_TRUE(requests.is_idle());
}

}  // namespace
}  // namespace softrnic::subnet
