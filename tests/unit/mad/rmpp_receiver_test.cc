// What the receiving side says to what it hears, after IBTA 13.6 and Linux' mad_rmpp.c.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/mad/rmpp_parts.h"

namespace softrnic::mad {
namespace {

using namespace std::chrono_literals;

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
}  // namespace
}  // namespace softrnic::mad
