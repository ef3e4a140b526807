// Whole transfers over a path that loses, doubles and reorders, and sides that hear any bytes.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/mad/rmpp_parts.h"

namespace softrnic::mad {
namespace {

using namespace std::chrono_literals;

/// A transfer over a path with faults; time jumps from event to event.
class Transfer {
 public:
  Transfer(unsigned seed, std::size_t bytes, std::size_t offset, std::uint32_t window, int loss)
      : random_(seed),
        loss_(loss),
        sender(message_of(bytes, offset), {.data_offset = offset, .retries = 60}),
        receiver({.data_offset = offset, .window = window, .timeout = 300s}) {}

  bool run() {
    for (int step = 0; step < 200000; ++step) {
      pump();
      if (sender.state() != RmppSender::State::sending) return true;
      TimePoint next = std::min(sender.deadline(), receiver.deadline());
      if (!path_.empty()) next = std::min(next, path_.begin()->first);
      now_ = std::max(now_, next);
      deliver();
    }
    return false;
  }

 private:
  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }

  void pump() {
    Mad mad;
    while (sender.next(now_, mad)) travel(true, mad);
    while (receiver.next(now_, mad)) travel(false, mad);
  }
  void travel(bool to_receiver, const Mad& mad) {
    for (int copies = chance(loss_) ? 0 : chance(10) ? 2 : 1; copies > 0; --copies)
      path_.emplace(now_ + std::chrono::microseconds(random_() % 500), std::pair{to_receiver, mad});
  }
  void deliver() {
    while (!path_.empty() && path_.begin()->first <= now_) {
      const auto [to_receiver, mad] = path_.begin()->second;
      path_.erase(path_.begin());
      if (to_receiver) {
        receiver.receive(mad, now_);
      } else {
        sender.receive(mad, now_);
      }
    }
  }

  std::mt19937 random_;
  int loss_;
  std::multimap<TimePoint, std::pair<bool, Mad>> path_;
  TimePoint now_ = kStart;

 public:
  RmppSender sender;
  RmppReceiver receiver;
};

/// But for the RMPP header, which is the first segment's.
void expect_same_message(std::vector<std::byte> arrived, std::vector<std::byte> sent, unsigned seed) {
  ASSERT_EQ(arrived.size(), sent.size()) << seed;
  encode_rmpp({}, arrived);
  encode_rmpp({}, sent);
  EXPECT_EQ(arrived, sent) << seed;
}

TEST(RmppTransfer, ArrivesWholeOverAFaultyPath) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const std::size_t offset = std::array{36U, 40U, 56U, 64U}[random() % 4];
    const std::size_t bytes = seed % 3 == 0 ? (random() % 50) * (kMadBytes - offset) : random() % 20000;
    const auto window = static_cast<std::uint32_t>(1 + random() % 70);
    Transfer transfer(seed, bytes, offset, window, static_cast<int>(random() % 30));
    ASSERT_TRUE(transfer.run()) << seed;
    ASSERT_EQ(transfer.sender.state(), RmppSender::State::done) << seed;
    ASSERT_EQ(transfer.receiver.state(), RmppReceiver::State::done) << seed;
    expect_same_message(transfer.receiver.take_message(), message_of(bytes, offset), seed);
  }
}

// Whatever bytes come, each side ends or goes on; the memory of the receiver stays bounded.
TEST(RmppTransfer, BearsAnyBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    RmppReceiver side = receiver({.window = 8, .most_bytes = 4096});
    RmppSender sender = sender_of(3000);
    TimePoint now = kStart;
    for (int i = 0; i < 30; ++i, now += 1s) {
      Mad mad;
      for (std::byte& byte : mad) byte = static_cast<std::byte>(random());
      RmppHeader header = decode_rmpp(mad);
      header.active = true;
      if (random() % 4 != 0) header.version = 1;
      if (random() % 4 != 0) header.type = static_cast<RmppType>(random() % 5);
      if (random() % 4 != 0) header.status = RmppStatus::normal;
      if (random() % 4 != 0) header.segment_number = static_cast<std::uint32_t>(random() % 12);
      if (random() % 4 != 0) header.first = header.segment_number == 1;
      if (random() % 4 != 0) header.payload_length = static_cast<std::uint32_t>(random() % 240);
      encode_rmpp(header, mad);
      side.receive(mad, now);
      sender.receive(mad, now);
      Mad out;
      side.next(now, out);
      sender.next(now, out);
    }
    EXPECT_LE(side.take_message().size(), 4096U + 8 * kSaData);
  }
}

TEST(RmppTransfer, LooksAtWholeDatagramsOnly) {
  RmppReceiver side = receiver();
  RmppSender sender = sender_of(8);
  const Mad mad = mad_of(data_header(1, true, 220));
  side.receive(Bytes(mad).first(255), kStart);
  sender.receive({}, kStart);
  EXPECT_EQ(heard(side), kNothing);
  RmppHeader idle = data_header(1, true, 220);
  idle.active = false;
  side.receive(mad_of(idle), kStart);
  EXPECT_EQ(heard(side), kNothing);
}

}  // namespace
}  // namespace softrnic::mad
