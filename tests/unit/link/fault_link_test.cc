#include "link/fault_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/reason_id.h"
#include "link/udp_link.h"
#include "tests/unit/link/link_fixture.h"

namespace softrnic::link::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// Remembers what it is given, payload taken at flush() as the contract allows.
class RecordingLink final : public Link {
 public:
  struct Sent {
    std::uint32_t psn;
    bool damaged;
    std::vector<std::byte> payload;
  };
  void set_tap(PacketTap*) override {}
  void set_addresses(std::vector<device::GidEntry>) override {}
  void send(const ib::TxPacket& packet, TimePoint) override { queue(packet, false); }
  void send_damaged(const ib::TxPacket& packet, std::uint32_t, TimePoint) override { queue(packet, true); }
  void flush(TimePoint) override {
    for (auto& [packet, damaged] : queued) {
      std::vector<std::byte> payload;
      for (std::size_t i = 0; i < packet.fragment_count; ++i) {
        payload.insert(payload.end(), packet.fragments[i].data,
                       packet.fragments[i].data + packet.fragments[i].size);
      }
      sent.push_back({packet.headers.bth.psn, damaged, payload});
      if (log != nullptr) log->push_back(packet.headers.bth.psn);
    }
    queued.clear();
  }
  std::size_t receive(Receiver&, TimePoint) override { return 0; }
  bool has_packet(TimePoint) const override { return false; }
  int readable_fd() const override { return -1; }
  bool join(const wire::Gid&, std::uint32_t) override { return true; }
  bool leave(const wire::Gid&, std::uint32_t) override { return true; }
  bool is_full() const override { return full; }
  void queue(const ib::TxPacket& packet, bool damaged) { queued.emplace_back(packet, damaged); }

  std::vector<std::pair<ib::TxPacket, bool>> queued;
  std::vector<Sent> sent;
  bool full = false;
  std::vector<std::uint32_t>* log = nullptr;  ///< PSNs, for when the link is gone
};

struct Outcome {
  std::vector<RecordingLink::Sent> sent;
  Collector collector;
};

Outcome run(const FaultPlan& plan, std::uint32_t packets) {
  auto inner = std::make_unique<RecordingLink>();
  RecordingLink& recorder = *inner;
  FaultLink link(std::move(inner), plan);
  PacketMaker maker;
  Outcome out;
  TimePoint now{};
  for (std::uint32_t i = 0; i < packets; ++i) {
    link.send(maker.make(wire::Opcode::rc_send_only, i, pattern(64, i)), now);
    if (i % 16 == 15) link.flush(now);
    now += 1us;
  }
  now += 20s;
  link.flush(now);
  link.receive(out.collector, now);
  EXPECT_EQ(link.deadline(), kNever);
  out.sent = std::move(recorder.sent);
  return out;
}

TEST(FaultPlan, ReadsEveryFault) {
  const auto plan = parse_fault_plan("drop=1%,dup=0.5,reorder=2.5%,corrupt=0,delay=5ms,seed=7");
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_DOUBLE_EQ(plan->drop, 0.01);
  EXPECT_DOUBLE_EQ(plan->duplicate, 0.5);
  EXPECT_DOUBLE_EQ(plan->reorder, 0.025);
  EXPECT_DOUBLE_EQ(plan->corrupt, 0);
  EXPECT_EQ(plan->delay, 5ms);
  EXPECT_EQ(plan->seed, 7U);
}

TEST(FaultPlan, SaysWhatIsWrong) {
  EXPECT_THAT(parse_fault_plan("drop=101%").error(), HasSubstr("percentage"));
  EXPECT_THAT(parse_fault_plan("drop").error(), HasSubstr("percentage"));
  EXPECT_THAT(parse_fault_plan("drop=-1%").error(), HasSubstr("drop=-1%"));
  EXPECT_THAT(parse_fault_plan("drop=nan").error(), HasSubstr("drop"));
  EXPECT_THAT(parse_fault_plan("lose=1%").error(), HasSubstr("there are drop"));
  EXPECT_THAT(parse_fault_plan("delay=5").error(), HasSubstr("5ms"));
  EXPECT_THAT(parse_fault_plan("delay=1e300s").error(), HasSubstr("10s"));
  EXPECT_THAT(parse_fault_plan("seed=x").error(), HasSubstr("whole number"));
  EXPECT_THAT(parse_fault_plan("drop=1%,").error(), HasSubstr("comma"));
}

// What the network would carry one by one is lost one by one.
TEST(FaultLink, ALongPacketIsHitInParts) {
  FaultPlan plan;
  plan.drop = 0.5;
  auto inner = std::make_unique<RecordingLink>();
  RecordingLink& recorder = *inner;
  FaultLink link(std::move(inner), plan);
  PacketMaker maker;
  ib::TxPacket whole = maker.make(wire::Opcode::rc_write_middle, 100, pattern(64 * 256, 1));
  whole.packets = 64;
  whole.path_mtu = 256;
  link.send(whole, TimePoint{});
  link.flush(TimePoint{});
  EXPECT_GT(recorder.sent.size(), 10U);
  EXPECT_LT(recorder.sent.size(), 54U);
  for (const auto& sent : recorder.sent) {
    const auto all = pattern(64 * 256, 1);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>((sent.psn - 100) * 256);
    EXPECT_EQ(sent.payload, std::vector<std::byte>(begin, begin + 256));
  }
}

TEST(FaultLink, TheSeedDecides) {
  FaultPlan plan;
  plan.drop = plan.duplicate = plan.reorder = plan.corrupt = 0.1;
  plan.seed = 7;
  const auto order = [&](std::uint64_t seed) {
    plan.seed = seed;
    std::vector<std::pair<std::uint32_t, bool>> out;
    for (const auto& sent : run(plan, 2000).sent) out.emplace_back(sent.psn, sent.damaged);
    return out;
  };
  EXPECT_EQ(order(7), order(7));
  EXPECT_NE(order(7), order(8));
}

TEST(FaultLink, EveryFaultOccursAboutAsOftenAsAsked) {
  FaultPlan plan;
  plan.drop = 0.1;
  const Outcome dropped = run(plan, 10000);
  EXPECT_NEAR(static_cast<double>(dropped.sent.size()), 9000, 200);
  EXPECT_EQ(dropped.collector.drops.size(), 10000 - dropped.sent.size());
  EXPECT_EQ(dropped.collector.drops[0].first.id, ReasonId::drop_injected);

  plan = FaultPlan{};
  plan.duplicate = 0.1;
  EXPECT_NEAR(static_cast<double>(run(plan, 10000).sent.size()), 11000, 200);

  plan = FaultPlan{};
  plan.corrupt = 0.1;
  const Outcome damaged = run(plan, 10000);
  EXPECT_NEAR(static_cast<double>(std::count_if(damaged.sent.begin(), damaged.sent.end(),
                                                [](const auto& sent) { return sent.damaged; })),
              1000, 200);
}

TEST(FaultLink, ReorderingLosesNothingAndIsBounded) {
  FaultPlan plan;
  plan.reorder = 0.2;
  const Outcome reordered = run(plan, 10000);
  ASSERT_EQ(reordered.sent.size(), 10000U);
  std::vector<bool> seen(10000);
  std::size_t late = 0;
  for (std::uint32_t i = 0; i < 10000; ++i) {
    const auto& sent = reordered.sent[i];
    EXPECT_FALSE(seen[sent.psn]);
    seen[sent.psn] = true;
    EXPECT_EQ(sent.payload, pattern(64, sent.psn));
    if (sent.psn < i) ++late;
    EXPECT_LT(sent.psn > i ? sent.psn - i : i - sent.psn, 20U);
  }
  EXPECT_GT(late, 1000U);
}

TEST(FaultLink, DelayedPacketsLeaveWhenTheirTimeComesAndKeepTheirBytes) {
  FaultPlan plan;
  plan.delay = 5ms;
  auto inner = std::make_unique<RecordingLink>();
  RecordingLink& recorder = *inner;
  FaultLink link(std::move(inner), plan);
  PacketMaker maker;
  auto payload = pattern(700, 3);
  ib::TxPacket packet = maker.make(wire::Opcode::rc_send_only, 1, payload);
  packet.fragments[0] = {payload.data(), payload.size()};
  link.send(packet, TimePoint{});
  link.flush(TimePoint{});
  payload.assign(payload.size(), std::byte{});  // the program may use its memory again after flush()
  EXPECT_TRUE(recorder.sent.empty());
  EXPECT_EQ(link.deadline(), TimePoint{} + 5ms);
  link.flush(TimePoint{} + 4ms);
  EXPECT_TRUE(recorder.sent.empty());
  link.flush(TimePoint{} + 5ms);
  ASSERT_EQ(recorder.sent.size(), 1U);
  EXPECT_EQ(recorder.sent[0].payload, pattern(700, 3));
}

TEST(FaultLink, WhatIsHeldBackLeavesWithTheLink) {
  FaultPlan plan;
  plan.delay = 5ms;
  std::vector<std::uint32_t> sent;
  {
    auto inner = std::make_unique<RecordingLink>();
    inner->log = &sent;
    FaultLink link(std::move(inner), plan);
    PacketMaker maker;
    link.send(maker.make(wire::Opcode::rc_send_only, 1, pattern(64, 1)), TimePoint{});
    link.flush(TimePoint{});
    EXPECT_TRUE(sent.empty());
  }
  EXPECT_EQ(sent, std::vector<std::uint32_t>{1});
}

TEST(FaultLink, ThePeerRejectsEveryCorruptPacket) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    std::uint16_t port = 0;
    const int fd = bound_socket(address, 0, port);
    ASSERT_GE(fd, 0);
    FaultPlan plan;
    plan.corrupt = 1;
    FaultLink link(std::make_unique<UdpLink>(UdpLink::Options{fd, port, port}), plan);
    PacketMaker maker;
    maker.path.source = maker.path.destination = gid_of(address);
    Collector collector;
    for (std::uint32_t i = 0; i < 500; ++i) {
      link.send(maker.make(wire::Opcode::rc_send_only, i, pattern(i * 8, i)), TimePoint{});
      if (i % 20 == 19) {
        link.flush(TimePoint{});
        read_until(link, collector, i + 1);
      }
    }
    EXPECT_TRUE(collector.packets.empty());
    EXPECT_EQ(collector.drops.size(), 500U);
  }
}

TEST(FaultLink, WhatIsDelayedWaitsForAFullNetwork) {
  auto inner = std::make_unique<RecordingLink>();
  RecordingLink& network = *inner;
  FaultPlan plan;
  plan.delay = 1ms;
  FaultLink link(std::move(inner), plan);
  PacketMaker maker;
  const TimePoint start{1s};
  link.send(maker.make(wire::Opcode::rc_send_only, 1, pattern(64, 1)), start);
  network.full = true;
  link.flush(start + 2ms);
  EXPECT_TRUE(network.sent.empty());
  EXPECT_EQ(link.deadline(), kNever) << "the network says when it is to be flushed";
  network.full = false;
  EXPECT_EQ(link.deadline(), start + 1ms);
  link.flush(start + 3ms);
  EXPECT_EQ(network.sent.size(), 1U);
}

}  // namespace
}  // namespace softrnic::link::test
