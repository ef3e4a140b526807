// Two iWARP endpoints on a stream that is cut anywhere, joined, damaged and broken, by a seed, with a
// model that knows what is right: each message comes once, in order and as it was sent, or both sides hear
// of an error. With CRCs nothing damaged reaches anybody.
#include <gtest/gtest.h>

#include <deque>

#include "tests/sim/rng.h"
#include "tests/unit/transport/iwarp/endpoint_pair.h"

namespace softrnic::iwarp {
namespace {

using ib::SendOp;
using ib::Status;
using test::Post;
using test::Side;

enum class Trouble : std::uint8_t { none, damage, broken };

constexpr std::uint32_t kSlot = 10'000;  ///< bytes of memory that a work request has for itself
constexpr std::uint32_t kMessages = 12;

/// One direction of the stream: bytes that were taken and have not come.
using Wire = std::deque<std::byte>;

class Simulation {
 public:
  Simulation(std::uint32_t seed, Trouble trouble) : random_(seed), trouble_(trouble), a_(1), b_(77) {
    MpaAgreement agreement;
    agreement.crc = trouble == Trouble::damage || pick(2) == 0;
    agreement.markers_in = agreement.markers_out = pick(4) == 0;
    agreement.long_fpdus = pick(2) == 0;
    agreement.ird = agreement.ord = static_cast<std::uint16_t>(1 + pick(4));
    Attributes attributes;
    attributes.access = test::kAll;
    attributes.emss = 600 + pick(3000);
    a_.endpoint.start(attributes, agreement, now_);
    b_.endpoint.start(attributes, agreement, now_);
    if (trouble != Trouble::none) trouble_at_ = pick(60'000);
    for (Side* side : {&a_, &b_})
      for (std::uint32_t i = 0; i < kMessages; ++i) side->receive(i + 1, 250'000 + i * kSlot, kSlot);
    before_ = {a_.memory, b_.memory};
  }

  void run() {
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      post(a_, i);
      post(b_, i);
      for (std::uint32_t n = pick(6); n > 0; --n) step();
    }
    for (int steps = 0; steps < 20'000 && !over(); ++steps) {
      step();
      // READs that wait when the peer closes are lost, and rightly so
      if (a_.endpoint.outstanding_sends() + b_.endpoint.outstanding_sends() == 0) a_.endpoint.close(now_);
    }
    ASSERT_TRUE(over()) << "it hangs";
    check(a_, b_, before_[0], before_[1]);
    check(b_, a_, before_[1], before_[0]);
    if (trouble_ == Trouble::none) {
      EXPECT_EQ(a_.endpoint.ending(), Ending::closed);
      EXPECT_EQ(b_.endpoint.ending(), Ending::closed);
      EXPECT_EQ(successes(a_), kMessages);
      EXPECT_EQ(successes(b_), kMessages);
    } else if (struck_) {
      EXPECT_TRUE(a_.endpoint.in_error() && b_.endpoint.in_error());
    }
  }

 private:
  std::uint32_t pick(std::uint32_t bound) { return static_cast<std::uint32_t>(random_.below(bound)); }

  /// Work request i of a side reads or writes slot i of either memory, and nothing else does.
  void post(Side& side, std::uint32_t i) {
    static constexpr SendOp kOps[] = {SendOp::send, SendOp::write, SendOp::read, SendOp::send};
    const bool first = &side == &a_;
    Post post;
    post.op = kOps[pick(4)];
    post.length = pick(5) == 0 ? pick(4) : pick(kSlot);
    post.from = i * kSlot + (first ? 0 : 125'000);
    post.to = i * kSlot + (first ? 0 : 125'000);
    post.solicited = pick(2) == 0;
    posts_[first ? 0 : 1].push_back(post);
    side.post(post);
  }

  void step() {
    const std::uint32_t what = pick(4);
    if (what == 0) send(a_, 0);
    if (what == 1) send(b_, 1);
    if (what == 2) deliver(b_, 0);
    if (what == 3) deliver(a_, 1);
    now_ += std::chrono::milliseconds(pick(20));
    for (Side* side : {&a_, &b_}) side->endpoint.expire(now_);
  }

  void send(Side& from, std::size_t wire) {
    std::array<Bytes, 24> out;
    const std::size_t count = from.endpoint.gather(out, now_);
    std::size_t room = 1 + pick(pick(3) == 0 ? 50 : 9000), taken = 0;
    for (const Bytes piece : std::span(out).first(count)) {
      const std::size_t n = std::min(room, piece.size());
      for (const std::byte byte : piece.first(n)) {
        const bool hit = trouble_ == Trouble::damage && !struck_ && ++passed_ > trouble_at_;
        wires_[wire].push_back(hit ? byte ^ std::byte{0x10} : byte);
        struck_ = struck_ || hit;
      }
      room -= n;
      taken += n;
    }
    from.endpoint.sent(taken, now_);
    if (from.endpoint.wish() == StreamWish::none) return;
    closed_[wire] = true;
    if (from.endpoint.wish() == StreamWish::shut_down) from.endpoint.shut_down_done(now_);
  }

  void deliver(Side& to, std::size_t wire) {
    Wire& stream = wires_[wire];
    const std::size_t size = std::min<std::size_t>(stream.size(), 1 + pick(pick(3) == 0 ? 40 : 20'000));
    std::vector<std::byte> bytes(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(size));
    stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(size));
    test::Pair::deliver(to, bytes, pick(2) == 0, now_);
    if (trouble_ == Trouble::broken && !struck_ && (passed_ += size) > trouble_at_) {
      struck_ = true;
      wires_[0].clear();
      wires_[1].clear();
      a_.endpoint.stream_ended(StreamEnd::broken, now_);
      b_.endpoint.stream_ended(StreamEnd::broken, now_);
    }
    if (stream.empty() && closed_[wire]) to.endpoint.stream_ended(StreamEnd::closed, now_);
  }

  bool over() const { return a_.endpoint.phase() == Phase::ended && b_.endpoint.phase() == Phase::ended; }
  static std::size_t successes(const Side& side) {
    return static_cast<std::size_t>(
        std::ranges::count(side.host.sends, Status::success, &ib::SendDone::status));
  }

  /// What `side` posted, as its completions and the peer's receives tell.
  void check(const Side& side, const Side& peer, const std::vector<std::byte>& mine,
             const std::vector<std::byte>& theirs) {
    const auto& posts = posts_[&side == &a_ ? 0 : 1];
    ASSERT_EQ(side.host.sends.size(), posts.size()) << "a work request did not complete, or twice";
    std::size_t taken = 0;
    for (std::size_t i = 0; i < posts.size(); ++i) {
      const Post& post = posts[i];
      EXPECT_EQ(side.host.sends[i].wr_id, i + 1);
      const bool good = side.host.sends[i].status == Status::success;
      const auto source = Bytes(mine).subspan(post.from, post.length);
      if (post.op == SendOp::read && good) {
        EXPECT_TRUE(
            std::ranges::equal(side.at(post.from, post.length), Bytes(theirs).subspan(post.to, post.length)));
      }
      if (post.op == SendOp::write)
        check_write(peer, post, source, Bytes(theirs).subspan(post.to, kSlot), good);
      if (post.op != SendOp::send || taken == peer.host.recvs.size()) continue;
      const ib::RecvDone& done = peer.host.recvs[taken++];
      if (done.status != Status::success) continue;
      EXPECT_EQ(done.wr_id, taken);
      EXPECT_EQ(done.length, post.length);
      EXPECT_EQ(done.solicited, post.solicited);
      EXPECT_TRUE(std::ranges::equal(peer.at(250'000 + (taken - 1) * kSlot, post.length), source)) << i;
    }
  }
  /// All of it if nothing went wrong; else each byte is the old one or the new, and nothing else.
  void check_write(const Side& peer, const Post& post, Bytes source, Bytes old, bool good) {
    const Bytes now = peer.at(post.to, kSlot);
    if (trouble_ == Trouble::none && good) {
      EXPECT_TRUE(std::ranges::equal(now.first(post.length), source));
    }
    for (std::size_t i = 0; i < kSlot; ++i)
      ASSERT_TRUE(now[i] == old[i] || (i < source.size() && now[i] == source[i])) << i;
  }

  sim::Rng random_;
  Trouble trouble_;
  Side a_, b_;
  TimePoint now_{};
  std::array<std::vector<std::byte>, 2> before_;
  std::array<std::vector<Post>, 2> posts_;
  std::array<Wire, 2> wires_;
  std::array<bool, 2> closed_{};
  std::size_t trouble_at_ = 0, passed_ = 0;
  bool struck_ = false;
};

class IwarpSimulation : public ::testing::TestWithParam<Trouble> {};

TEST_P(IwarpSimulation, DeliversOnceInOrderOrTellsBoth) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Simulation simulation(seed, GetParam());
    simulation.run();
    if (HasFailure()) return;
  }
}

std::string name_of(const ::testing::TestParamInfo<Trouble>& info) {
  constexpr const char* kNames[] = {"whole", "damaged", "broken"};
  return kNames[static_cast<std::size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Streams, IwarpSimulation,
                         ::testing::Values(Trouble::none, Trouble::damage, Trouble::broken), name_of);

}  // namespace
}  // namespace softrnic::iwarp
