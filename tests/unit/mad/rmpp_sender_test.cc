// What the sending side says to what it hears, after IBTA 13.6 and Linux' mad_rmpp.c.
#include <gtest/gtest.h>

#include <tuple>

#include "mad/time_code.h"
#include "tests/unit/mad/format_checks.h"
#include "tests/unit/mad/rmpp_parts.h"

namespace softrnic::mad {
namespace {

using namespace std::chrono_literals;

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

TEST(RmppSender, HasAllItsRetriesAgainAfterAnAck) {
  RmppSender sender(message_of(4 * kSaData), {.data_offset = kSaOffset, .retries = 1});
  heard(sender);
  EXPECT_EQ(heard(sender, kStart + 2s).number, 1U);
  sender.receive(mad_of(ack_header(1, 3)), kStart + 2s);
  EXPECT_EQ(heard(sender, kStart + 2s).number, 2U);
  EXPECT_EQ(heard(sender, kStart + 2s).number, 3U);
  EXPECT_EQ(heard(sender, kStart + 4s).number, 2U);
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
}  // namespace
}  // namespace softrnic::mad
