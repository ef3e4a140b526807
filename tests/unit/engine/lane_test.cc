// A lane and its link: what is read, and in which order things leave.
#include "engine/lane.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/reason_id.h"
#include "control/page_writer.h"
#include "engine/poll_moderation.h"
#include "engine/qp_table.h"
#include "link/null_link.h"
#include "mad/mad.h"
#include "tests/unit/engine/queue_pairs_fixture.h"
#include "transport/ib/rx_packet.h"
#include "wire/opcode.h"

namespace softrnic::engine {
namespace {

constexpr std::uint8_t kLane = 3;

/// What has been read from a socket at once, and what was done.
class BatchLink final : public link::NullLink {
 public:
  struct Log {
    std::vector<ib::RxPacket> packets;  ///< read already, not handed on yet
    std::size_t handed = 0;
    std::size_t fails_at = SIZE_MAX;  ///< at this packet memory runs out
    std::string steps;
    bool full_once_flushed = false;
  };
  explicit BatchLink(Log& log) : log_(log) {}

  // has_packet() stays false: nothing is left in the socket
  std::size_t receive(link::Receiver& receiver, TimePoint) override {
    std::size_t n = 0;
    while (log_.handed < log_.packets.size()) {
      const std::size_t which = log_.handed++;
      if (which == log_.fails_at) throw std::bad_alloc();
      receiver.packet(log_.packets[which]);
      ++n;
    }
    return n;
  }
  void send(const ib::TxPacket&, TimePoint) override { log_.steps += "send "; }
  void flush(TimePoint) override {
    log_.steps += "flush ";
    full_ = log_.full_once_flushed;
  }
  bool is_full() const override { return full_; }
  bool join(const wire::Gid&, std::uint32_t) override { return true; }

 private:
  Log& log_;
  bool full_ = false;
};

struct LaneAndLink : testing::Test {
  static ib::RxPacket datagram(Qpn to, std::uint32_t qkey, Bytes payload) {
    ib::RxPacket rx;
    rx.packet.headers.bth.opcode = wire::Opcode::ud_send_only;
    rx.packet.headers.bth.destination = to;
    rx.packet.headers.deth.qkey = qkey;
    rx.packet.headers.deth.source = Qpn::of(9, Qpn::kLaneIndex);
    rx.packet.info = &wire::opcode_info(wire::Opcode::ud_send_only);
    rx.packet.payload = payload;
    rx.source = wire::Gid::from_ipv4_be(0x0100000a);
    rx.destination = wire::Gid::from_ipv4_be(0x0200000a);
    return rx;
  }

  /// What has been taken, another lane wants to know.
  static ib::RxPacket question() {
    static const mad::Mad mad = [] {
      mad::Mad made{};
      mad::Header header;
      header.management_class = static_cast<mad::ManagementClass>(0x09);
      header.class_version = 1;
      header.method = mad::Method::get;
      header.attribute = 0x0010;
      mad::encode_header(header, made);
      return made;
    }();
    return datagram(Qpn::of(kLane, Qpn::kLaneIndex), 0x53524e43, mad);
  }

  void poll() {
    rnic::CompletionSink nowhere;
    lane.progress(nowhere);
  }

  BatchLink::Log log;
  control::PageWriter page;
  Lane lane{kLane, 1, std::make_unique<BatchLink>(log), page, nullptr, {}, {}};
};

TEST_F(LaneAndLink, WhatTheLinkHasReadIsHandledAlsoAfterMemoryRanOut) {
  log.packets.assign(8, datagram(Qpn::of(kLane, 77), 0, {}));
  log.fails_at = 2;
  lane.service(true);
  EXPECT_EQ(log.handed, 8U);
}

TEST_F(LaneAndLink, APollThatRanOutOfMemoryIsFollowedByOneThatReads) {
  log.packets.assign(8, datagram(Qpn::of(kLane, 77), 0, {}));
  log.fails_at = 2;
  poll();
  EXPECT_EQ(log.handed, 3U);
  poll();
  EXPECT_EQ(log.handed, 8U);
}

TEST_F(LaneAndLink, WhatHasArrivedIsTakenBeforeAFlush) {
  log.packets.assign(8, datagram(Qpn::of(kLane, 77), 0, {}));
  const std::lock_guard lock(lane.mutex());
  lane.take_arrived();
  EXPECT_EQ(log.handed, 8U);
}

TEST_F(LaneAndLink, AnAnswerOvertakesNothing) {
  log.packets.push_back(question());
  lane.service(true);
  EXPECT_EQ(log.steps.substr(0, 17), "flush send flush ");
}

TEST_F(LaneAndLink, AnAnswerWaitsForAFullLink) {
  log.packets.push_back(question());
  log.full_once_flushed = true;
  lane.service(true);
  EXPECT_EQ(log.steps.find("send"), std::string::npos);
  log.full_once_flushed = false;
  lane.service(true);
  EXPECT_NE(log.steps.find("send"), std::string::npos);
}

TEST_F(LaneAndLink, PeersChooseHowManyWindowsThereAreOnlyUpToABound) {
  const auto window_to = [&](std::uint32_t host) {
    ib::AddressVector path;
    path.destination = wire::Gid::from_ipv4_be(host << 8 | 10);
    return lane.gauged_window(path, Qpn::of(9, 5));
  };
  ib::PathWindow* const first = window_to(1);
  ASSERT_NE(first, nullptr);
  for (std::uint32_t host = 2; host <= flow::CreditMessages::kMostPeers; ++host)
    ASSERT_NE(window_to(host), nullptr);
  EXPECT_EQ(window_to(flow::CreditMessages::kMostPeers + 1), nullptr);
  EXPECT_EQ(window_to(1), first);
}

/// A program that only posts, and whose sends leave at once.
struct LaneOfPosts : test::QueuePairs {
  ~LaneOfPosts() override {
    lane.leave_window(*qp);
    EXPECT_TRUE(qp->destroy());
  }
  void post() {
    const std::lock_guard lock(lane.mutex());
    lane.transmit(*qp);
  }

  BatchLink::Log log;
  control::PageWriter page;
  Lane lane{kLane, 1, std::make_unique<BatchLink>(log), page, nullptr, {}, {}};
  OwnedQp qp = make_qp();
};

TEST_F(LaneOfPosts, LooksAtWhatHasComeNowAndThen) {
  for (std::size_t packets = 1; packets < 4; ++packets) {
    log.packets.resize(packets, LaneAndLink::datagram(Qpn::of(kLane, 77), 0, {}));
    const TimePoint hangs = monotonic_now() + std::chrono::seconds(20);
    while (log.handed < packets && monotonic_now() < hangs) post();
    ASSERT_EQ(log.handed, packets);
  }
}

/// A lane with a member of a group that has posted no receive.
struct LaneWithGroup : test::QueuePairs {
  LaneWithGroup() {
    lane.set_addresses(device()->port.gids);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qkey = 5;
    EXPECT_TRUE(qp->modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
    attr.qp_state = IBV_QPS_RTR;
    EXPECT_TRUE(qp->modify(attr, IBV_QP_STATE));
    const std::lock_guard lock(lane.mutex());
    EXPECT_TRUE(lane.join(*qp, kGroup));
  }
  ~LaneWithGroup() override {
    lane.leave_window(*qp);
    {
      const std::lock_guard lock(lane.mutex());
      lane.leave(*qp, kGroup);
    }
    EXPECT_TRUE(qp->destroy());
  }
  OwnedQp make_datagram_qp() {
    rnic::QueuePairInit init;
    init.type = IBV_QPT_UD;
    init.send_cq = init.recv_cq = cq.get();
    return std::move(rnic::QueuePair::create(*pd, init).value());
  }
  /// What becomes of a datagram to the group: the reason for which it was dropped.
  ReasonId comes_from(const wire::Gid& host, Qpn source) {
    log.packets = {LaneAndLink::datagram(Qpn(Qpn::kMulticast), 5, {})};
    log.packets[0].packet.headers.deth.source = source;
    log.packets[0].packet.headers.bth.pkey = wire::kDefaultPkey;
    log.packets[0].source = host;
    log.packets[0].destination = kGroup;
    log.handed = 0;
    lane.service(true);
    return qp->explained() == nullptr ? ReasonId::none : qp->explained()->latest().reason.id;
  }

  static constexpr wire::Gid kGroup = {{std::byte{0xff}, std::byte{0x0e}}};
  BatchLink::Log log;
  control::PageWriter page;
  Lane lane{kLane, 1, std::make_unique<BatchLink>(log), page, nullptr, {}, {}};
  OwnedQp qp = make_datagram_qp();
};

TEST_F(LaneWithGroup, AMemberWithoutReceivesIsNotToldOfTheLossOfItsOwnDatagrams) {
  const wire::Gid here = device()->port.gids[0].gid;
  EXPECT_EQ(comes_from(here, qp->qpn()), ReasonId::none);
  EXPECT_EQ(comes_from(wire::Gid::from_ipv4_be(0x0900000a), qp->qpn()), ReasonId::drop_ud_no_receive)
      << "another host has such a QP, too";
}

TEST_F(LaneWithGroup, OfThoseOfOthersItIsTold) {
  const Qpn other(qp->qpn().value ^ 1);
  EXPECT_EQ(comes_from(device()->port.gids[0].gid, other), ReasonId::drop_ud_no_receive);
}

/// Takes nothing, and says when it is to be asked again.
class FullLink final : public link::NullLink {
 public:
  struct State {
    bool full = true;
    TimePoint deadline = kNever;
    int flushes = 0;
  };
  explicit FullLink(State& state) : state_(state) {}
  void flush(TimePoint) override { ++state_.flushes; }
  bool is_full() const override { return state_.full; }
  TimePoint deadline() const override { return state_.deadline; }
  bool join(const wire::Gid&, std::uint32_t) override {
    state_.deadline = TimePoint::min();
    return true;
  }

 private:
  State& state_;
};

/// A lane with a queue pair that is to be asked what it has to send.
struct LaneWithFullLink : test::QueuePairs {
  LaneWithFullLink() {
    const std::lock_guard lock(lane.mutex());
    lane.transmit(*qp);
  }
  ~LaneWithFullLink() override {
    lane.leave_window(*qp);
    EXPECT_TRUE(qp->destroy());
  }
  void poll() {
    rnic::CompletionSink nowhere;
    lane.progress(nowhere);
  }
  bool timer_goes_off_soon() const {
    pollfd timer{lane.timer_fd(), POLLIN, 0};
    return ::poll(&timer, 1, 20) == 1;
  }

  FullLink::State link;
  control::PageWriter page;
  Lane lane{kLane, 1, std::make_unique<FullLink>(link), page, nullptr, {}, {}};
  OwnedQp qp = make_qp();
};

TEST_F(LaneWithFullLink, NobodyComesBackAtOnceForWhatItDoesNotTake) {
  lane.service(true);
  EXPECT_FALSE(timer_goes_off_soon());
  link.flushes = 0;
  for (int i = 0; i < 10; ++i) poll();
  EXPECT_EQ(link.flushes, 0);
}

TEST_F(LaneWithFullLink, TheEngineThreadAsksItOnce) {
  link.flushes = 0;
  lane.service(true);
  EXPECT_EQ(link.flushes, 1);
}

TEST_F(LaneWithFullLink, AGroupThatItIsToTellOfIsNotForgotten) {
  lane.service(true);
  ASSERT_FALSE(timer_goes_off_soon());
  {
    const std::lock_guard lock(lane.mutex());
    EXPECT_TRUE(lane.join(*qp, {}));
  }
  EXPECT_TRUE(timer_goes_off_soon()) << "for the engine thread";
  link.flushes = 0;
  poll();
  EXPECT_EQ(link.flushes, 1) << "or a poll";
}

TEST_F(LaneWithFullLink, APollAsksItAgainWhenItSaysSo) {
  link.deadline = monotonic_now() + std::chrono::milliseconds(1);
  lane.service(true);
  link.flushes = 0;
  while (link.flushes == 0 && monotonic_now() < link.deadline + std::chrono::seconds(10)) poll();
  EXPECT_GE(monotonic_now(), link.deadline);
  EXPECT_EQ(link.flushes, 1);
}

}  // namespace
}  // namespace softrnic::engine
