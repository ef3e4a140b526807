// RMPP: what each side says to what it hears, after IBTA 13.6 and Linux' mad_rmpp.c, and whole transfers over
// a path that loses, doubles and reorders.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "mad/rmpp_receiver.h"
#include "mad/rmpp_sender.h"
#include "mad/time_code.h"
#include "tests/unit/mad/format_checks.h"

namespace softrnic::mad {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSaOffset = 56;
constexpr std::size_t kSaData = 200;
constexpr TimePoint kStart{1s};

/// A message of GetTableResp with so many bytes of data.
std::vector<std::byte> message_of(std::size_t data, std::size_t offset = kSaOffset) {
  std::vector<std::byte> message(offset + data);
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i * 7 + i / 251);
  encode_header({.management_class = ManagementClass::subnet_administration,
                 .class_version = 2,
                 .method = Method::get_table_response,
                 .transaction = 0x1234,
                 .attribute = 0x11},
                message);
  encode_rmpp({.response_time = RmppHeader::kNoResponseTime}, message);
  return message;
}

RmppHeader data_header(std::uint32_t number, bool last, std::uint32_t payload) {
  return {.type = RmppType::data,
          .last = last,
          .first = number == 1,
          .active = true,
          .segment_number = number,
          .payload_length = payload};
}
RmppHeader ack_header(std::uint32_t number, std::uint32_t window_last) {
  return {.type = RmppType::ack,
          .response_time = RmppHeader::kNoResponseTime,
          .active = true,
          .segment_number = number,
          .payload_length = window_last};
}

Mad mad_of(const RmppHeader& header) {
  Mad mad{};
  const auto message = message_of(kSaData);
  std::copy_n(message.begin(), mad.size(), mad.begin());
  encode_rmpp(header, mad);
  return mad;
}

struct Heard {
  RmppType type = RmppType::none;
  std::uint32_t number = 0, length = 0;
  RmppStatus status{};
  bool operator==(const Heard&) const = default;
};

template <typename Side>
Heard heard(Side& side, TimePoint now = kStart) {
  Mad mad;
  if (!side.next(now, mad)) return {};
  const RmppHeader header = decode_rmpp(mad);
  return {header.type, header.segment_number, header.payload_length, header.status};
}
constexpr Heard kNothing{};
Heard data(std::uint32_t number, std::uint32_t length) { return {RmppType::data, number, length, {}}; }
Heard ack(std::uint32_t number, std::uint32_t window) { return {RmppType::ack, number, window, {}}; }
Heard abort_with(RmppStatus status) { return {RmppType::abort, 0, 0, status}; }

RmppSender sender_of(std::size_t bytes) { return RmppSender(message_of(bytes), {.data_offset = kSaOffset}); }
RmppReceiver receiver(RmppReceiving how = {}) {
  how.data_offset = kSaOffset;
  return RmppReceiver(how);
}

TEST(RmppHeader, LiesWhereLibibmadPutsIt) {
  expect_places<RmppHeader>({{"version", 0, 8},
                             {"type", 8, 8},
                             {"response_time", 16, 5},
                             {"last", 21, 1},
                             {"first", 22, 1},
                             {"active", 23, 1},
                             {"status", 24, 8},
                             {"segment_number", 32, 32},
                             {"payload_length", 64, 32}});
  EXPECT_EQ(time_of(0), 4096ns);
  EXPECT_EQ(time_of(18), 4096ns * (1 << 18));
}

// The lengths that Linux' send_next_seg() writes: 220 a segment, less what is empty in the last.
TEST(RmppSender, TellsTheLengthInFirstAndLast) {
  RmppSender one = sender_of(8);
  EXPECT_EQ(heard(one), data(1, 220 - 192));
  RmppSender none = sender_of(0);
  EXPECT_EQ(heard(none), data(1, 20));
  RmppSender full = sender_of(kSaData);
  EXPECT_EQ(full.segments(), 1U);
  EXPECT_EQ(heard(full), data(1, 220));
  RmppSender three = sender_of(2 * kSaData + 16);
  EXPECT_EQ(three.segments(), 3U);
  EXPECT_EQ(heard(three), data(1, 3 * 220 - 184));
  three.receive(mad_of(ack_header(1, 9)), kStart);
  EXPECT_EQ(heard(three), data(2, 0));
  EXPECT_EQ(heard(three), data(3, 220 - 184));
}

TEST(RmppSender, CopiesHeadersIntoEachSegment) {
  RmppSender sender = sender_of(2 * kSaData);
  const auto message = message_of(2 * kSaData);
  Mad mad;
  ASSERT_TRUE(sender.next(kStart, mad));
  sender.receive(mad_of(ack_header(1, 2)), kStart);
  ASSERT_TRUE(sender.next(kStart, mad));
  EXPECT_TRUE(std::equal(mad.begin(), mad.begin() + kRmppOffset, message.begin()));
  EXPECT_TRUE(std::equal(mad.begin() + 36, mad.begin() + 56, message.begin() + 36));
  EXPECT_TRUE(std::equal(mad.begin() + 56, mad.end(), message.begin() + 56 + 200));
}

TEST(RmppSender, KeepsToTheWindow) {
  RmppSender sender = sender_of(9 * kSaData);
  EXPECT_EQ(heard(sender).number, 1U);
  EXPECT_EQ(heard(sender), kNothing);
  sender.receive(mad_of(ack_header(1, 3)), kStart);
  EXPECT_EQ(heard(sender).number, 2U);
  EXPECT_EQ(heard(sender).number, 3U);
  EXPECT_EQ(heard(sender), kNothing);
  sender.receive(mad_of(ack_header(3, 100)), kStart);
  for (std::uint32_t number = 4; number <= 9; ++number) EXPECT_EQ(heard(sender).number, number);
  EXPECT_EQ(heard(sender), kNothing);
  EXPECT_EQ(sender.state(), RmppSender::State::sending);
  sender.receive(mad_of(ack_header(9, 100)), kStart);
  EXPECT_EQ(sender.state(), RmppSender::State::done);
  EXPECT_EQ(sender.deadline(), kNever);
}

TEST(RmppSender, LeavesOldAcksAlone) {
  RmppSender sender = sender_of(9 * kSaData);
  heard(sender);
  sender.receive(mad_of(ack_header(1, 5)), kStart);
  heard(sender);
  heard(sender);
  sender.receive(mad_of(ack_header(2, 8)), kStart);
  sender.receive(mad_of(ack_header(1, 5)), kStart);
  EXPECT_EQ(sender.state(), RmppSender::State::sending);
  EXPECT_EQ(heard(sender, kStart + 2s).number, 3U);
}

TEST(RmppSender, SendsAgainWhatIsNotAcknowledged) {
  RmppSender sender = sender_of(9 * kSaData);
  heard(sender);
  sender.receive(mad_of(ack_header(1, 4)), kStart);
  for (int i = 0; i < 3; ++i) heard(sender);
  EXPECT_EQ(heard(sender, kStart + 2s - 1ns), kNothing);
  EXPECT_EQ(sender.deadline(), kStart + 2s);
  EXPECT_EQ(heard(sender, kStart + 2s).number, 2U);
  sender.receive(mad_of(ack_header(4, 8)), kStart + 2s);  // for what left before
  EXPECT_EQ(heard(sender, kStart + 2s).number, 5U);
}

TEST(RmppSender, GivesUpAfterItsRetries) {
  RmppSender sender(message_of(8), {.data_offset = kSaOffset, .retries = 2});
  TimePoint now = kStart;
  for (int i = 0; i < 3; ++i, now += 2s) EXPECT_EQ(heard(sender, now).number, 1U);
  EXPECT_EQ(heard(sender, now), abort_with(RmppStatus::too_many_retries));
  EXPECT_EQ(sender.state(), RmppSender::State::failed);
  EXPECT_EQ(heard(sender, now + 10s), kNothing);
}

TEST(RmppSender, WaitsLongerWhenAsked) {
  RmppSender sender = sender_of(9 * kSaData);
  heard(sender);
  RmppHeader slow = ack_header(1, 2);
  slow.response_time = 20;  // 4.3 s
  sender.receive(mad_of(slow), kStart);
  heard(sender);
  EXPECT_EQ(sender.deadline(), kStart + time_of(20));
  slow.response_time = 30;
  slow.segment_number = 2;
  slow.payload_length = 3;
  sender.receive(mad_of(slow), kStart);
  heard(sender);
  EXPECT_EQ(sender.deadline(), kStart + 20s);
}

/// What the sender says to a datagram after its first segment has left.
Heard answer_to(const RmppHeader& header) {
  RmppSender sender = sender_of(9 * kSaData);
  heard(sender);
  sender.receive(mad_of(header), kStart);
  EXPECT_EQ(sender.state(), RmppSender::State::failed);
  return heard(sender);
}

TEST(RmppSender, AbortsWhatIsWrong) {
  RmppHeader header = ack_header(1, 5);
  header.status = RmppStatus::unspecified;
  EXPECT_EQ(answer_to(header), abort_with(RmppStatus::illegal_status));
  EXPECT_EQ(answer_to(ack_header(1, 0)), abort_with(RmppStatus::new_window_last_too_small));
  EXPECT_EQ(answer_to(ack_header(2, 5)), abort_with(RmppStatus::segment_number_too_big));
  header = ack_header(1, 5);
  header.version = 2;
  EXPECT_EQ(answer_to(header), abort_with(RmppStatus::unsupported_version));
  header = ack_header(1, 5);
  header.type = RmppType{9};
  EXPECT_EQ(answer_to(header), abort_with(RmppStatus::bad_type));
}

TEST(RmppSender, EndsByStopAndAbortWithoutAWord) {
  for (const auto& [type, status, reason] :
       {std::tuple{RmppType::stop, RmppStatus::resources_exhausted, RmppStatus::resources_exhausted},
        std::tuple{RmppType::abort, RmppStatus::total_time_too_long, RmppStatus::total_time_too_long},
        std::tuple{RmppType::abort, RmppStatus::resources_exhausted, RmppStatus::illegal_status},
        std::tuple{RmppType::stop, RmppStatus{7}, RmppStatus::illegal_status}}) {
    RmppSender sender = sender_of(9 * kSaData);
    heard(sender);
    sender.receive(mad_of({.type = type, .active = true, .status = status}), kStart);
    EXPECT_EQ(sender.state(), RmppSender::State::failed);
    EXPECT_EQ(sender.status(), reason);
    EXPECT_EQ(heard(sender, kStart + 100s), kNothing);
  }
}

TEST(RmppReceiver, OpensTheWindowWithTheFirstSegment) {
  RmppReceiver side = receiver({.window = 4});
  side.receive(mad_of(data_header(1, false, 0)), kStart);
  EXPECT_EQ(heard(side), ack(1, 5));
  for (std::uint32_t number = 2; number <= 4; ++number) {
    side.receive(mad_of(data_header(number, false, 0)), kStart);
    EXPECT_EQ(heard(side), kNothing);
  }
  side.receive(mad_of(data_header(5, false, 0)), kStart);
  EXPECT_EQ(heard(side), ack(5, 9));
  side.receive(mad_of(data_header(6, true, 220)), kStart);
  EXPECT_EQ(heard(side), ack(6, 9));
  EXPECT_EQ(side.state(), RmppReceiver::State::done);
  EXPECT_EQ(side.take_message().size(), kSaOffset + 6 * kSaData);
}

TEST(RmppReceiver, AnswersWithTheOtherMethod) {
  RmppReceiver side = receiver();
  side.receive(mad_of(data_header(1, true, 28)), kStart);
  Mad mad;
  ASSERT_TRUE(side.next(kStart, mad));
  EXPECT_EQ(parse_header(mad)->method, Method::get_table);
  EXPECT_EQ(parse_header(mad)->transaction, 0x1234U);
  EXPECT_TRUE(
      std::all_of(mad.begin() + kSaOffset, mad.end(), [](std::byte byte) { return byte == std::byte{0}; }));
  EXPECT_EQ(side.take_message().size(), kSaOffset + 8);
}

TEST(RmppReceiver, KeepsWhatComesOutOfOrder) {
  RmppReceiver side = receiver({.window = 4});
  side.receive(mad_of(data_header(1, false, 0)), kStart);
  heard(side);
  for (const std::uint32_t number : {4U, 3U, 4U, 5U}) {
    side.receive(mad_of(data_header(number, number == 5, number == 5 ? 220 : 0)), kStart);
    EXPECT_EQ(heard(side), kNothing);
  }
  side.receive(mad_of(data_header(2, false, 0)), kStart);
  EXPECT_EQ(heard(side), ack(5, 5));
  EXPECT_EQ(side.state(), RmppReceiver::State::done);
}

TEST(RmppReceiver, DropsWhatIsBeyondTheWindow) {
  RmppReceiver side = receiver({.window = 4});
  side.receive(mad_of(data_header(2, false, 0)), kStart);
  EXPECT_EQ(heard(side), kNothing);
  side.receive(mad_of(data_header(1, false, 0)), kStart);
  EXPECT_EQ(heard(side), ack(1, 5));
  side.receive(mad_of(data_header(6, false, 0)), kStart);
  EXPECT_EQ(heard(side), kNothing);
  EXPECT_EQ(side.state(), RmppReceiver::State::receiving);
}

TEST(RmppReceiver, AcknowledgesAgainWhatWasAcknowledged) {
  RmppReceiver side = receiver({.window = 4});
  side.receive(mad_of(data_header(1, false, 0)), kStart);
  heard(side);
  side.receive(mad_of(data_header(2, false, 0)), kStart);
  side.receive(mad_of(data_header(1, false, 0)), kStart);
  EXPECT_EQ(heard(side), ack(2, 5));
  side.receive(mad_of(data_header(3, true, 220)), kStart);
  EXPECT_EQ(heard(side), ack(3, 5));
  side.receive(mad_of(data_header(3, true, 220)), kStart);
  EXPECT_EQ(heard(side), ack(3, 5));
  EXPECT_FALSE(side.can_be_forgotten(kStart + 9s));
  EXPECT_TRUE(side.can_be_forgotten(kStart + 10s));
}

/// What the receiver says to a datagram after segments 1 and 2.
Heard refusal_of(const RmppHeader& header) {
  RmppReceiver side = receiver();
  side.receive(mad_of(data_header(1, false, 0)), kStart);
  heard(side);
  side.receive(mad_of(data_header(2, false, 0)), kStart);
  side.receive(mad_of(header), kStart);
  EXPECT_EQ(side.state(), RmppReceiver::State::failed);
  const Heard first = heard(side);
  side.receive(mad_of(data_header(3, false, 0)), kStart);  // the sender has not heard it
  EXPECT_EQ(heard(side), first);
  EXPECT_TRUE(side.take_message().empty());
  return first;
}

TEST(RmppReceiver, AbortsWhatIsWrong) {
  RmppHeader header = data_header(3, false, 0);
  header.status = RmppStatus::resources_exhausted;
  EXPECT_EQ(refusal_of(header), abort_with(RmppStatus::illegal_status));
  header = data_header(3, false, 0);
  header.first = true;
  EXPECT_EQ(refusal_of(header), abort_with(RmppStatus::inconsistent_first_and_segment_number));
  header = data_header(1, false, 0);
  header.first = false;
  EXPECT_EQ(refusal_of(header), abort_with(RmppStatus::inconsistent_first_and_segment_number));
  EXPECT_EQ(refusal_of(data_header(0, false, 0)),
            abort_with(RmppStatus::inconsistent_first_and_segment_number));
  EXPECT_EQ(refusal_of(data_header(3, true, 19)),
            abort_with(RmppStatus::inconsistent_last_and_payload_length));
  EXPECT_EQ(refusal_of(data_header(3, true, 221)),
            abort_with(RmppStatus::inconsistent_last_and_payload_length));
  EXPECT_EQ(refusal_of(data_header(1, true, 220)),
            abort_with(RmppStatus::inconsistent_last_and_payload_length));
  header = data_header(3, false, 0);
  header.version = 0;
  EXPECT_EQ(refusal_of(header), abort_with(RmppStatus::unsupported_version));
  header = data_header(3, false, 0);
  header.type = RmppType::none;
  EXPECT_EQ(refusal_of(header), abort_with(RmppStatus::bad_type));
}

TEST(RmppReceiver, AbortsSegmentsBeyondTheLast) {
  RmppReceiver side = receiver();
  side.receive(mad_of(data_header(1, false, 0)), kStart);
  side.receive(mad_of(data_header(4, true, 220)), kStart);  // beyond the window of one
  heard(side);
  side.receive(mad_of(data_header(4, true, 220)), kStart);
  side.receive(mad_of(data_header(5, false, 0)), kStart);
  EXPECT_EQ(heard(side), abort_with(RmppStatus::segment_number_too_big));
}

TEST(RmppReceiver, StopsWhatIsTooLong) {
  const Heard stop{RmppType::stop, 0, 0, RmppStatus::resources_exhausted};
  RmppReceiver told = receiver({.most_bytes = 1000});
  told.receive(mad_of(data_header(1, false, 1001)), kStart);
  EXPECT_EQ(heard(told), stop);
  RmppReceiver untold = receiver({.most_bytes = 1000});
  for (std::uint32_t number = 1; number <= 4; ++number) {
    untold.receive(mad_of(data_header(number, false, 0)), kStart);
    EXPECT_EQ(heard(untold).type, number == 1 ? RmppType::ack : RmppType::none);
  }
  untold.receive(mad_of(data_header(5, false, 0)), kStart);
  EXPECT_EQ(heard(untold), stop);
  EXPECT_EQ(untold.status(), RmppStatus::resources_exhausted);
}

TEST(RmppReceiver, GivesUpWithoutAnythingNew) {
  RmppReceiver side = receiver();
  side.receive(mad_of(data_header(2, false, 0)), kStart);  // not even this begins for ever
  EXPECT_EQ(side.deadline(), kStart + 40s);
  EXPECT_EQ(heard(side, kStart + 39s), kNothing);
  EXPECT_EQ(heard(side, kStart + 40s), abort_with(RmppStatus::total_time_too_long));
  EXPECT_EQ(heard(side, kStart + 41s), kNothing);
}

TEST(RmppReceiver, EndsByAbortWithoutAWord) {
  RmppReceiver side = receiver();
  side.receive(mad_of(data_header(1, false, 0)), kStart);
  side.receive(mad_of({.type = RmppType::abort, .active = true, .status = RmppStatus::unspecified}), kStart);
  EXPECT_EQ(side.state(), RmppReceiver::State::failed);
  EXPECT_EQ(side.status(), RmppStatus::unspecified);
  EXPECT_EQ(heard(side), kNothing);
}

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
