#include "flow/peer_credit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/qp_table.h"
#include "flow/credit_messages.h"
#include "transport/ib/rx_packet.h"
#include "wire/opcode.h"

namespace softrnic::flow {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kBuffer = 8 << 20;

struct Credit : testing::Test {
  PeerCredit::Probes probes;
  PeerCredit credit{7, probes};
  TimePoint now{5s};

  std::uint64_t granted() {
    std::uint64_t sum = 0;
    while (const std::uint32_t part = credit.room(now)) sum += part;
    return sum;
  }
  std::uint64_t probe() {
    EXPECT_EQ(probes, PeerCredit::Probes{7});
    probes.clear();
    return credit.take_probe();
  }
};

TEST_F(Credit, NoMoreIsUnderWayThanTheFirstWindowUntilThePeerAnswers) {
  EXPECT_EQ(granted(), PeerCredit::kFirstWindow);
  const std::uint64_t place = probe();
  EXPECT_LT(place, PeerCredit::kFirstWindow);
  credit.reported(place, kBuffer);
  const std::uint64_t under_way = PeerCredit::kFirstWindow - place + granted();
  EXPECT_LE(under_way, kBuffer / 2);
  EXPECT_GT(under_way, kBuffer / 2 - kBuffer / 2 / PeerCredit::kParts);
}

TEST_F(Credit, AnAnswerGivesBackWhatWasSentBeforeItsQuestion) {
  granted();
  now += PeerCredit::kProbeAgain;
  EXPECT_EQ(credit.room(now), 0U);
  const std::uint64_t place = probe();
  EXPECT_EQ(place, PeerCredit::kFirstWindow);
  credit.reported(place, 2 * PeerCredit::kFirstWindow);
  EXPECT_EQ(granted(), PeerCredit::kFirstWindow);
}

TEST_F(Credit, ALostQuestionIsAskedAgain) {
  granted();
  probe();
  EXPECT_EQ(credit.room(now), 0U);
  EXPECT_TRUE(probes.empty());
  now += PeerCredit::kProbeAgain;
  EXPECT_EQ(credit.room(now), 0U);
  probe();
}

TEST_F(Credit, AnswersToWhatWasNeverAskedAndOldOnesChangeNothing) {
  const std::uint64_t all = granted();
  credit.reported(all + 1, kBuffer);
  EXPECT_EQ(granted(), 0U);
  credit.reported(all, PeerCredit::kFirstWindow * 2);
  const std::uint64_t more = granted();
  EXPECT_EQ(more, PeerCredit::kFirstWindow);
  credit.reported(all, PeerCredit::kFirstWindow * 2);
  EXPECT_EQ(granted(), 0U);
}

TEST_F(Credit, APeerThatNeverAnswersIsNotKnownAfterAWhileButAskedNowAndThen) {
  EXPECT_TRUE(credit.knows(now));
  granted();
  probe();
  now += PeerCredit::kFirstReport - 1ns;
  EXPECT_TRUE(credit.knows(now));
  now += 1ns;
  EXPECT_FALSE(credit.knows(now));
  const std::uint64_t place = probe();
  EXPECT_FALSE(credit.knows(now));
  EXPECT_TRUE(probes.empty());
  credit.reported(place, kBuffer);
  EXPECT_TRUE(credit.knows(now));
}

// Where packets stay on the host the peer is softrnic: one that does not report is off the processor.
TEST_F(Credit, APeerOfThisHostIsWaitedForUntilItAnswers) {
  PeerCredit local{8, probes, true};
  std::uint64_t sum = 0;
  while (const std::uint32_t part = local.room(now)) sum += part;
  EXPECT_EQ(sum, PeerCredit::kLeastWindow);
  now += 100 * PeerCredit::kFirstReport;
  EXPECT_TRUE(local.knows(now));
  EXPECT_EQ(local.room(now), 0U);
  local.reported(local.take_probe(), kBuffer);
  EXPECT_GT(local.room(now), 0U);
}

// A ping-pong with an adapter must not stand still for long.
TEST_F(Credit, APeerThatNeverAnswersHoldsUpItsSenderOnceAndBriefly) {
  ib::PathWindow window;
  window.observe(&credit);
  const TimePoint begin = now;
  TimePoint last = now;
  Duration longest{};
  while (now - begin < 5s) {
    if (window.admit(1088, now).when > now) {
      now += ib::PathWindow::kLookAgain;
      continue;
    }
    longest = std::max(longest, now - last);
    last = now;
    now += 5us;
  }
  EXPECT_GE(longest, 10ms);
  EXPECT_LE(longest, PeerCredit::kFirstReport);
}

TEST_F(Credit, APeerThatNeverAnswersIsAskedMoreAndMoreSeldom) {
  granted();
  probe();
  std::vector<Duration> times;
  for (const TimePoint end = now + 3600s; now < end; now += 10ms) {
    static_cast<void>(credit.knows(now));
    if (probes.empty()) continue;
    probe();
    times.push_back(now.time_since_epoch());
  }
  ASSERT_GT(times.size(), 20U);
  EXPECT_LT(times.size(), 100U);
  for (std::size_t i = 2; i < times.size(); ++i) {
    EXPECT_GE(times[i] - times[i - 1], times[i - 1] - times[i - 2]);
    EXPECT_LE(times[i] - times[i - 1], PeerCredit::kLongestBackOff + 10ms);
  }
}

/// Fills `path` as far as it goes: how many packets that takes.
std::uint32_t fill(Path& path, TimePoint now) {
  std::uint32_t packets = 0;
  while (path.admit(1088, now).when == now) ++packets;
  return packets;
}

/// Two lanes whose messages reach each other.
struct Letters : testing::Test {
  static constexpr std::uint8_t kA = 3, kB = 4;
  const wire::Gid gid_a = wire::Gid::from_ipv4_be(0x0100000a), gid_b = wire::Gid::from_ipv4_be(0x0200000a);
  CreditMessages a{kA, kBuffer}, b{kB, kBuffer};
  PathTable paths_a, paths_b;
  TimePoint now{5s};

  static ib::RxPacket arrived(const ib::TxPacket& sent) {
    ib::RxPacket rx;
    rx.packet.headers = sent.headers;
    rx.packet.info = &wire::opcode_info(sent.headers.bth.opcode);
    rx.packet.payload = Bytes(sent.fragments[0].data, sent.fragments[0].size);
    rx.source = sent.path->source;
    rx.destination = sent.path->destination;
    return rx;
  }
  /// Hands what `from` has to send to `to`; how many messages there were.
  int deliver(CreditMessages& from, CreditMessages& to, PathTable& paths, std::uint8_t lane) const {
    int messages = 0;
    from.send([&](const ib::TxPacket& packet) {
      ++messages;
      EXPECT_EQ(packet.headers.bth.destination, Qpn::of(lane, Qpn::kLaneIndex));
      EXPECT_TRUE(to.receive(arrived(packet), paths, now));
    });
    return messages;
  }
};

TEST_F(Letters, AWindowOpensWhenThePeersLaneHasTakenWhatWasSent) {
  Path& path = paths_a.path(gid_b, kB);
  ib::AddressVector way;
  way.source = gid_a;
  way.destination = gid_b;
  a.observe(path, way, kB);
  const std::uint32_t first = fill(path, now);
  EXPECT_GE(first, PeerCredit::kFirstWindow / ib::datagram_cost(1088) - PeerCredit::kParts);
  EXPECT_EQ(deliver(a, b, paths_b, kB), 1);
  EXPECT_EQ(fill(path, now), 0U);
  EXPECT_EQ(deliver(b, a, paths_a, kA), 1);
  EXPECT_GT(fill(path, now), first);
  EXPECT_EQ(deliver(b, a, paths_a, kA), 0);
}

/// A lane of another host that sends to lane b.
struct Sender {
  Sender(std::uint8_t host, const wire::Gid& to) {
    way.source = wire::Gid::from_ipv4_be(0x0000000aU | std::uint32_t{host} << 24);
    way.destination = to;
    path = &paths.path(to, Letters::kB);
    messages.observe(*path, way, Letters::kB);
  }
  CreditMessages messages{Letters::kA, kBuffer};
  PathTable paths;
  ib::AddressVector way;
  Path* path = nullptr;
};

TEST_F(Letters, AllSendersTogetherDoNotFillTheBuffer) {
  std::vector<std::unique_ptr<Sender>> senders;
  for (std::uint8_t host = 10; host < 15; ++host) senders.push_back(std::make_unique<Sender>(host, gid_b));
  // The lane is off the processor after it has reported everybody: what each may send then stays in its
  // buffer.
  const auto report = [&](Sender& sender) {
    deliver(sender.messages, b, paths_b, kB);
    EXPECT_EQ(deliver(b, sender.messages, sender.paths, kA), 1);
  };
  for (int round = 0; round < 3; ++round) {
    now += PeerCredit::kProbeAgain;
    for (const auto& sender : senders) {
      fill(*sender->path, now);
      report(*sender);
    }
  }
  std::uint64_t cost = 0;
  for (const auto& sender : senders) {
    now += PeerCredit::kProbeAgain;
    fill(*sender->path, now);
    report(*sender);
    cost += std::uint64_t{fill(*sender->path, now)} * ib::datagram_cost(1088);
  }
  EXPECT_LE(cost, kBuffer / 2);
  EXPECT_GT(cost, kBuffer / 4);
  // When the others have ended, there is room again.
  now += 2 * BufferSharers::kLately;
  report(*senders[0]);
  EXPECT_GT(fill(*senders[0]->path, now) * ib::datagram_cost(1088), kBuffer / 4);
}

TEST_F(Letters, WhatWasAnsweredMakesRoomForTheNextAnswers) {
  Sender sender(10, gid_b);
  fill(*sender.path, now);
  ib::RxPacket probe;
  std::vector<std::byte> bytes;
  sender.messages.send([&](const ib::TxPacket& packet) {
    probe = arrived(packet);
    bytes.assign(probe.packet.payload.begin(), probe.packet.payload.end());
  });
  probe.packet.payload = bytes;
  const auto reports = [&] {
    for (int i = 0; i < 300; ++i) EXPECT_TRUE(b.receive(probe, paths_b, now));
    int sent = 0;
    b.send([&](const ib::TxPacket&) { ++sent; });
    return sent;
  };
  const int first = reports();
  EXPECT_LT(first, 300);  // a bound there is
  EXPECT_EQ(reports(), first);
  EXPECT_FALSE(b.any());
}

TEST_F(Letters, OtherDatagramsAreNone) {
  ib::TxPacket packet;
  ib::AddressVector way;
  way.source = gid_a;
  way.destination = gid_b;
  packet.path = &way;
  packet.headers.bth.opcode = wire::Opcode::ud_send_only;
  EXPECT_FALSE(b.receive(arrived(packet), paths_b, now));
  EXPECT_EQ(deliver(b, a, paths_a, kA), 0);
}

}  // namespace
}  // namespace softrnic::flow
