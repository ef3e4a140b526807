// Two ends and what is under way between them, in every order that chance brings.
#include "fabric/remote_link_state.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <utility>
#include <variant>

#include "tests/sim/rng.h"

namespace softrnic::fabric {
namespace {

TEST(RemoteLinkState, ComesUpWhenBothAreReadyAndKnowEachOther) {
  RemoteLinkState a, b;
  a.set_ready(true);
  EXPECT_FALSE(a.may_be_up());
  b.hear(a.own());
  a.hear(b.own());
  EXPECT_FALSE(a.may_be_up()) << "the other end is not ready";
  b.set_ready(true);
  EXPECT_FALSE(b.may_be_up()) << "it is not known yet there";
  a.hear(b.own());
  EXPECT_TRUE(a.may_be_up());
  b.hear(a.own());
  EXPECT_TRUE(b.may_be_up());
}

TEST(RemoteLinkState, AnEndThatWentDownHasToBeHeardFirst) {
  RemoteLinkState a, b;
  a.set_ready(true);
  b.set_ready(true);
  b.hear(a.own());
  a.hear(b.own());
  b.hear(a.own());
  a.went_down();
  EXPECT_FALSE(a.may_be_up());
  EXPECT_TRUE(b.hear(a.own())) << "the number is another";
  b.went_down();
  a.hear(b.own());
  EXPECT_FALSE(b.may_be_up()) << "its own number is another, too";
  b.hear(a.own());
  EXPECT_TRUE(a.may_be_up() && b.may_be_up());
}

TEST(RemoteLinkState, ZeroIsNoNumber) {
  RemoteLinkState a, b;
  a.set_ready(true);
  b.set_ready(true);
  RemoteLinkStatus last = b.own();
  last.epoch = 0xffff'ffff;
  a.hear(last);
  EXPECT_EQ(a.own().heard, 0xffff'ffffU);
  b.hear(a.own());
  EXPECT_FALSE(a.may_be_up()) << "it has not been heard";
}

/// What comes with each packet: the period in which it was sent, and its place there.
struct Stamp {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::uint32_t place = 0;
};
using Told = std::variant<RemoteLinkStatus, Stamp>;

struct End {
  RemoteLinkState state;
  RemoteLinkStatus told;
  std::deque<Told> to_peer;
  bool up = false;
  std::uint32_t sent = 0;      ///< in this period
  std::uint32_t received = 0;  ///< in this period
  std::uint32_t received_in_all = 0;

  void tell() {
    if (told == state.own()) return;
    told = state.own();
    to_peer.emplace_back(told);
  }
  void send() {
    if (up) to_peer.emplace_back(Stamp{state.own().epoch, state.own().heard, sent++});
  }
  void go_down() {
    if (!std::exchange(up, false)) return;
    state.went_down();
    tell();
  }
  void look() {
    tell();
    if (up || !state.may_be_up()) return;
    up = true;
    sent = received = 0;
    send();
  }
  void hear(const Told& what) {
    if (const auto* status = std::get_if<RemoteLinkStatus>(&what)) {
      if (state.hear(*status)) go_down();
      return look();
    }
    const Stamp stamp = std::get<Stamp>(what);
    if (!up) return;
    ASSERT_EQ(stamp.sender, state.own().heard) << "a packet of an earlier period";
    ASSERT_EQ(stamp.receiver, state.own().epoch) << "a packet for an earlier period";
    ASSERT_EQ(stamp.place, received) << "the link came up after its first packet";
    ++received;
    ++received_in_all;
  }
};

class Pair {
 public:
  explicit Pair(std::uint64_t seed) : rng_(seed) { connect(); }

  void disturb() {
    End& end = ends_[rng_.below(2)];
    switch (rng_.below(60)) {
      case 0:
        end.state.set_ready(false);
        end.go_down();
        return end.look();
      case 1:
      case 2:
        end.state.set_ready(true);
        return end.look();
      case 3:
        end.go_down();
        return end.look();
      case 4:
        return connect();
      default:
        return rng_.chance(0.3) ? end.send() : deliver(rng_.below(2));
    }
  }
  void settle() {
    for (End& end : ends_) {
      end.state.set_ready(true);
      end.look();
    }
    for (int i = 0; i < 1000; ++i) deliver(rng_.below(2));
  }
  const End& end(std::size_t i) const { return ends_[i]; }

 private:
  void connect() {
    for (End& end : ends_) {
      end.to_peer.clear();
      end.state.forget_peer();
      end.up = false;
    }
    for (End& end : ends_) end.look();
  }
  void deliver(std::size_t from) {
    std::deque<Told>& queue = ends_[from].to_peer;
    if (queue.empty()) return;
    const Told told = queue.front();
    queue.pop_front();
    ends_[1 - from].hear(told);
  }

  sim::Rng rng_;
  std::array<End, 2> ends_;
};

TEST(RemoteLinkState, NoPacketOutlivesItsPeriodInAnyOrder) {
  std::uint64_t received = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Pair pair(seed);
    for (int i = 0; i < 200; ++i) pair.disturb();
    pair.settle();
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    for (const std::size_t i : {0U, 1U}) {
      const End &end = pair.end(i), &peer = pair.end(1 - i);
      ASSERT_TRUE(end.up) << "seed " << seed;
      ASSERT_EQ(end.state.own().heard, peer.state.own().epoch) << "seed " << seed;
      ASSERT_EQ(end.received, peer.sent) << "seed " << seed;
      received += end.received_in_all;
    }
  }
  EXPECT_GT(received, 20'000U);
}

}  // namespace
}  // namespace softrnic::fabric
