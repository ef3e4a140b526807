// What this side does for who has not shown that it receives what goes to its address (RFC 9000 8.1 has the
// same rule).
#include <algorithm>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "tests/unit/cm/pair.h"

namespace softrnic::cm {
namespace {

constexpr std::size_t kMostForEach = 3;
constexpr Duration kShortestInterval = std::chrono::milliseconds(100);
constexpr Duration kLongestInterval = std::chrono::seconds(20);

class Unproven : public Pair {
 protected:
  static mad::Address sender(std::uint32_t last = 3) {
    mad::Address from;
    from.local = path().remote;
    from.remote = wire::Gid::from_ipv4_be(last << 24 | 0x0a);
    return from;
  }
  /// The most that can be asked for: sixteen REPs as fast as possible.
  static Req impatient(std::uint32_t number = 1, std::uint32_t last = 3) {
    Req req;
    req.local_id = number;
    req.service_id = kService;
    req.ca_guid = 0xc;
    req.qpn = Qpn(number);
    req.mtu = 3;
    req.max_cm_retries = 15;
    req.primary.local_gid = sender(last).remote;
    req.primary.remote_gid = sender(last).local;
    return req;
  }
  /// An MRA for the REP, which names the passive side's ID.
  void ask_for_patience() {
    Mra mra;
    mra.local_id = active.value;
    mra.remote_id = passive.value;
    mra.about = About::rep;
    b.manager.receive(b.host.sent.front().to, encode(mra, 1), now);
  }
  void ask(std::uint32_t number = 1, std::uint32_t last = 3) {
    ++asked;
    b.manager.receive(sender(last), encode(impatient(number, last), number), now);
  }
  /// Lets all time-outs pass.
  void run_out() {
    while (b.manager.deadline() != kNever) wait(b);
  }

  std::size_t asked = 0;
};

TEST_F(Unproven, GetsNoMoreThanThreeTimesWhatItSent) {
  // What the host does with a request; each of it may send.
  const std::function<void(Id)> hosts[] = {
      [&](Id id) { (void)b.manager.reply(id, reply(), now); },
      [&](Id id) {
        (void)b.manager.delay(id, 20, {}, now);
        (void)b.manager.reply(id, reply(), now);
      },
      [&](Id id) {
        (void)b.manager.delay(id, 20, {}, now);
        (void)b.manager.reply(id, reply(), now);
        (void)b.manager.reject(id, {}, now);
        b.manager.destroy(id, now);
      },
      [&](Id id) { b.manager.destroy(id, now); },
  };
  std::uint32_t number = 0;
  for (const auto& host : hosts) {
    for (const std::size_t repetitions : {1U, 2U, 5U}) {
      asked = 0;
      ++number;
      Id id;
      b.host.on_event = [&](const testing::CmEvent& event) {
        id = event.id;
        if (event.kind == EventKind::request) host(event.id);
      };
      for (std::size_t i = 0; i < repetitions; ++i) {
        ask(number);
        if (b.manager.deadline() != kNever) wait(b);
        EXPECT_LE(b.host.sent.size(), kMostForEach * asked) << number;
      }
      run_out();
      b.manager.destroy(id, now);
      run_out();
      EXPECT_GE(b.host.sent.size(), 1U);
      EXPECT_LE(b.host.take_sent().size(), kMostForEach * asked) << number;
      EXPECT_EQ(b.manager.size(), 0U);
    }
  }
}

TEST_F(Unproven, IsToldOnlyWhatFitsAndTheReasonSaysSo) {
  b.host.on_event = [&](const testing::CmEvent& event) {
    if (event.kind == EventKind::request) (void)b.manager.reply(event.id, reply(), now);
  };
  ask();
  run_out();
  const auto it = std::ranges::find(b.host.reasons, ReasonId::cm_unproven, &Reason::id);
  ASSERT_NE(it, b.host.reasons.end());
  EXPECT_EQ(
      describe(*it),
      "REP is not sent once more: 10.0.0.3 has sent 1 datagrams and not shown yet that it receives ours");
  EXPECT_EQ(std::ranges::count(b.host.reasons, ReasonId::cm_unproven, &Reason::id), 2)
      << "of the REP, of the REJ";
}

TEST_F(Unproven, SetsNoPaceOutsideOurBounds) {
  b.host.on_event = [&](const testing::CmEvent& event) {
    if (event.kind == EventKind::request) (void)b.manager.reply(event.id, reply(), now);
  };
  for (const std::uint8_t code : {std::uint8_t{0}, std::uint8_t{31}}) {
    Req req = impatient(code + 1U);
    req.local_response_timeout = req.remote_response_timeout = code;
    req.primary.ack_timeout = code;
    b.manager.receive(sender(), encode(req, 1), now);
    const TimePoint first = b.manager.deadline();
    EXPECT_GE(first - now, kShortestInterval) << +code;
    EXPECT_LE(first - now, kLongestInterval) << +code;
    wait(b);
    EXPECT_GE(b.manager.deadline() - now, kShortestInterval) << +code;
    run_out();
    b.host.take_sent();
  }
}

// An MRA names our ID: its sender may ask for patience, but for no haste.
TEST_F(Unproven, AnMraSetsNoPaceBelowTheFloorEither) {
  Request short_way = request();
  short_way.path.ack_timeout = 1;
  active = *a.manager.connect(short_way, now);
  deliver(a, b);
  passive = b.event().id;
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  ask_for_patience();
  EXPECT_GE(b.manager.deadline() - now, kShortestInterval);
}

TEST_F(Unproven, BecomesProvenByNamingOurId) {
  connect();
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  ask_for_patience();
  b.host.take_events();
  while (b.host.events.empty()) wait(b);
  EXPECT_EQ(b.host.sent.size(), 17U) << "sixteen REPs, and a REJ";
}

TEST_F(Unproven, TheOldestMakesRoomForTheNext) {
  End small(0xb, {.half_open = 4, .half_open_peer = 2, .connections = 100});
  ASSERT_TRUE(small.manager.listen(kService));
  const auto request_from = [&](std::uint32_t number, std::uint32_t last) {
    small.manager.receive(sender(last), encode(impatient(number, last), number), now);
    const auto events = small.host.take_events();
    EXPECT_EQ(events.back().kind, EventKind::request);
    EXPECT_TRUE(events.size() == 1 || events.front().kind == EventKind::unreachable);
    return std::pair(events.back().id, events.size() == 2 ? events.front().id : Id());
  };
  const Id first = request_from(1, 3).first;
  const Id second = request_from(2, 3).first;
  const auto third = request_from(3, 3);
  EXPECT_EQ(third.second, first) << "this peer's oldest";
  EXPECT_EQ(small.host.reasons.back().id, ReasonId::cm_limit);
  const Id of_other = request_from(4, 4).first;
  (void)request_from(5, 4);
  EXPECT_EQ(request_from(6, 5).second, second) << "the oldest of all";
  EXPECT_EQ(request_from(7, 6).second, third.first);
  EXPECT_EQ(small.manager.state(of_other), State::req_received);
  EXPECT_TRUE(small.host.sent.empty()) << "nothing goes to addresses that may be forged";
}

// 10,000 REQs a second with forged addresses, and a host that answers each at once.
TEST_F(Unproven, AFloodDoesNotKeepHonestPeersOut) {
  std::uint32_t next_qpn = 0x100;
  b.host.on_event = [&](const testing::CmEvent& event) {
    if (event.kind == EventKind::request) (void)b.manager.reply(event.id, reply(next_qpn++), now);
    if (event.kind == EventKind::unreachable) b.manager.destroy(event.id, now);
  };
  std::size_t most = 0;
  std::uint32_t number = 1;
  for (int honest = 0; honest < 20; ++honest) {
    for (int i = 0; i < 2000; ++i, ++number) {
      ask(number, 3 + number % 200);
      now += std::chrono::microseconds(100);
      b.manager.advance(now);
      b.host.take_events();
    }
    most = std::max(most, b.manager.size());
    b.host.take_sent(), b.host.reasons.clear();
    active = *a.manager.connect(request(0x100000U + number), now);
    for (int ways = 0; ways < 4; ++ways) deliver(a, b), deliver(b, a);
    ASSERT_EQ(a.event().kind, EventKind::reply);
    b.host.take_events();
    ASSERT_TRUE(a.manager.confirm(active, {}, now));
    deliver(a, b);
    EXPECT_EQ(b.event().kind, EventKind::established);
  }
  EXPECT_LE(most, Limits().asked + Limits().held + Limits().half_open + Limits().refused + 20);
}

TEST_F(Unproven, WhoHasProvedItselfIsNotGivenUpForStrangers) {
  End small(0xb, {.half_open = 2, .half_open_peer = 2, .connections = 100});
  ASSERT_TRUE(small.manager.listen(kService));
  active = *a.manager.connect(request(), now);
  deliver(a, small);
  passive = small.event().id;
  ASSERT_TRUE(small.manager.reply(passive, reply(), now));
  deliver(small, a);
  a.host.take_events();
  ASSERT_TRUE(a.manager.delay(active, 20, {}, now));  // names the ID
  deliver(a, small);
  for (std::uint32_t i = 1; i <= 10; ++i)
    small.manager.receive(sender(i + 2), encode(impatient(i, i + 2), i), now);
  EXPECT_EQ(small.manager.state(passive), State::mra_rep_received);
}

}  // namespace
}  // namespace softrnic::cm
