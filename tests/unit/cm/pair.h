// Two managers face to face, for tests that look at single messages: nothing travels unless it is delivered.
#pragma once

#include <gtest/gtest.h>

#include "cm/manager.h"
#include "tests/support/cm_host.h"

namespace softrnic::cm {

using testing::CmHost;
using testing::turned_round;

inline constexpr ServiceId kService(0x1061c06);

struct End {
  explicit End(std::uint64_t guid, const Limits& limits = {}) : manager(host, guid, limits) {}
  CmHost host;
  Manager manager;
  /// The only event since the last call; the test fails when there is not exactly one.
  testing::CmEvent event() {
    auto events = host.take_events();
    EXPECT_EQ(events.size(), 1U);
    return events.empty() ? testing::CmEvent(Event{}) : events.front();
  }
};

class Pair : public ::testing::Test {
 protected:
  Pair() {
    b.host.next_number = 0x7654321;
    listener = *b.manager.listen(kService);
  }

  static Path path() {
    Path path;
    path.local = wire::Gid::from_ipv4_be(0x0100000a);
    path.remote = wire::Gid::from_ipv4_be(0x0200000a);
    path.mtu = 3;
    path.ack_timeout = 17;
    return path;
  }
  static Request request(std::uint32_t qpn = 0x11) {
    Request request;
    request.service_id = kService;
    request.path = path();
    request.endpoint.qpn = Qpn(qpn);
    request.endpoint.starting_psn = 0x123456;
    return request;
  }
  static Reply reply(std::uint32_t qpn = 0x22) {
    Reply reply;
    reply.endpoint.qpn = Qpn(qpn);
    return reply;
  }

  /// Hands everything that `from` has sent to `to`; returns what it was.
  std::vector<Message> deliver(End& from, End& to) {
    std::vector<Message> messages;
    for (const auto& sent : from.host.take_sent()) {
      messages.push_back(sent.message());
      to.manager.receive(turned_round(sent.to), sent.mad, now);
    }
    return messages;
  }
  /// Loses it.
  static std::vector<Message> lose(End& from) {
    std::vector<Message> messages;
    for (const auto& sent : from.host.take_sent()) messages.push_back(sent.message());
    return messages;
  }
  /// Advances one end to its next deadline.
  void wait(End& end) {
    ASSERT_NE(end.manager.deadline(), kNever);
    now = end.manager.deadline();
    end.manager.advance(now);
  }

  void connect() {
    active = *a.manager.connect(request(), now);
    deliver(a, b);
    passive = b.event().id;
  }
  void establish() {
    connect();
    ASSERT_TRUE(b.manager.reply(passive, reply(), now));
    deliver(b, a);
    ASSERT_EQ(a.event().kind, EventKind::reply);
    ASSERT_TRUE(a.manager.confirm(active, {}, now));
    deliver(a, b);
    ASSERT_EQ(b.event().kind, EventKind::established);
  }
  /// Both ends have no id left after all deadlines.
  void expect_forgotten() {
    for (End* end : {&a, &b}) {
      while (end->manager.deadline() != kNever) wait(*end);
      EXPECT_EQ(end->manager.size(), 0U);
    }
  }

  using Messages = std::vector<Message>;
  TimePoint now{};
  End a{0xa}, b{0xb};
  Id listener, active, passive;
};

}  // namespace softrnic::cm
