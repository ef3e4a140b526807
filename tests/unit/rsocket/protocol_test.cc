// The protocol of rsockets without I/O, and against what the kernel's driver had on the wire (rxe-rsocket of
// tests/golden).
#include <gtest/gtest.h>

#include <vector>

#include "rsocket/messages.h"
#include "rsocket/receive_ring.h"
#include "rsocket/send_window.h"

namespace softrnic::rsocket {
namespace {

TEST(RsocketMessage, ImmediateDataOfTheKernelsDriver) {
  // Frames 8 and 17 of the capture: credits up to message 384 with a segment; 2048 bytes.
  EXPECT_EQ(encode(Message{Op::segment, 0x180}), 0x8000'0180U);
  EXPECT_EQ(encode(Message{Op::data, 0x800}), 0x800U);
  EXPECT_EQ(decode_message(0x8000'0180U).op, Op::segment);
  EXPECT_EQ(decode_message(0x8000'0180U).value, 0x180U);
  EXPECT_EQ(decode_message(0xe000'0002U).op, Op::control);
  EXPECT_EQ(decode_message(0xffff'ffffU).value, 0x1fff'ffffU);
}

/// The private data of one packet.
std::array<std::byte, kOfferSize> private_data_of(std::array<std::uint64_t, kOfferSize / 8> words) {
  std::array<std::byte, kOfferSize> bytes{};
  for (std::size_t i = 0; i < words.size(); ++i) store_be64(&bytes[i * 8], words[i]);
  return bytes;
}

TEST(RsocketOffer, OfTheKernelsDriver) {
  // Frames 5 and 6: connect request and reply between two rstream.
  const auto request = private_data_of({0x0102'0180'0000'0000, 0x0000'55ce'0246'd000, 0x0000'17e3'0000'0002,
                                        0x0000'7f4d'7b07'0000, 0x0000'18bb'0008'0000});
  const auto reply = private_data_of({0x0102'0180'0000'0000, 0x0000'7f00'b800'3000, 0x0000'1581'0000'0002,
                                      0x0000'7f00'bd00'c000, 0x0000'16f1'0008'0000});
  for (const auto& bytes : {request, reply}) {
    const auto offer = decode_offer(bytes);
    ASSERT_TRUE(offer);
    EXPECT_EQ(offer->credits, 384);
    EXPECT_EQ(offer->table.length, kSegmentRows);
    EXPECT_EQ(offer->buffer.length, 0x80000U);
    EXPECT_FALSE(offer->big_endian);
    EXPECT_EQ(encode(*offer), bytes);
  }
  // Frame 8 of the client then writes row 1 of the server's table, frame 9 to the start of its buffer.
  EXPECT_EQ(decode_offer(reply)->table.address + sizeof(Segment), 0x7f00'b800'3010U);
  EXPECT_EQ(decode_offer(reply)->buffer.address, 0x7f00'bd00'c000U);
}
Offer offer_with_rows(std::uint32_t rows) {
  Offer offer;
  offer.table = {1, 2, rows};
  return offer;
}

TEST(RsocketOffer, WhatIsNoneIsRefused) {
  auto bytes = encode(offer_with_rows(2));
  EXPECT_TRUE(decode_offer(bytes));
  EXPECT_FALSE(decode_offer(Bytes(bytes).first(kOfferSize - 1)));
  EXPECT_FALSE(decode_offer({}));
  auto of_version_2 = bytes;
  of_version_2[0] = std::byte{2};
  EXPECT_FALSE(decode_offer(of_version_2));
  EXPECT_FALSE(decode_offer(encode(offer_with_rows(0)))) << "a table without rows";
}

TEST(RsocketOffer, CountsOfMappingsTravelInOneByte) {
  EXPECT_EQ(from_scale(to_scale(0)), 0);
  EXPECT_EQ(from_scale(to_scale(128)), 128);
  EXPECT_EQ(from_scale(to_scale(1024)), 1024);
  EXPECT_EQ(from_scale(to_scale(1279)), 1024);
}

class Ring : public testing::Test {
 protected:
  /// The peer writes `length` bytes and says so.
  bool write(std::uint32_t length) {
    if (!ring_.arrived(length)) return false;
    for (std::uint32_t i = 0; i < length; ++i)
      memory_[written_++ % memory_.size()] = static_cast<std::byte>(next_in_++);
    return true;
  }
  void expect_read(std::size_t room, std::size_t expected) {
    std::vector<std::byte> to(room);
    ASSERT_EQ(ring_.take(memory_, to), expected);
    for (std::size_t i = 0; i < expected; ++i) ASSERT_EQ(to[i], static_cast<std::byte>(next_out_++));
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(64);
  ReceiveRing ring_{64, 8};
  std::size_t written_ = 0;
  std::uint8_t next_in_ = 0, next_out_ = 0;
};

TEST_F(Ring, HalvesAreGivenInTurn) {
  ASSERT_TRUE(ring_.update_due());
  EXPECT_EQ(ring_.update().half_at, 32U) << "the offer has given the first half";
  EXPECT_FALSE(ring_.update_due());
  for (int turn = 0; turn < 20; ++turn) {
    ASSERT_TRUE(write(20));
    ASSERT_TRUE(write(12));
    expect_read(64, 32);
    ASSERT_TRUE(ring_.update_due());
    EXPECT_EQ(ring_.update().half_at, turn % 2 == 0 ? 0U : 32U);
  }
}

TEST_F(Ring, PartsOfMessagesAndPeeks) {
  ASSERT_TRUE(write(10));
  ASSERT_TRUE(write(5));
  std::vector<std::byte> seen(12);
  EXPECT_EQ(ring_.peek(memory_, seen), 12U);
  EXPECT_EQ(seen[11], std::byte{11});
  expect_read(3, 3);
  expect_read(9, 9);
  expect_read(9, 3);
  EXPECT_TRUE(ring_.empty());
}

TEST_F(Ring, CreditsFollowWhatWasRead) {
  EXPECT_EQ(ring_.update().credits, 8);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(write(1));
  expect_read(3, 3);
  EXPECT_FALSE(ring_.update_due());
  expect_read(1, 1);
  ASSERT_TRUE(ring_.update_due()) << "half of the credits are used up";
  const auto update = ring_.update();
  EXPECT_EQ(update.credits, 12);
  EXPECT_FALSE(update.half_at);
  ring_.arrived_without_bytes();
  EXPECT_EQ(ring_.update().credits, 13);
}

TEST_F(Ring, ThePeerIsNotBelieved) {
  EXPECT_FALSE(ring_.arrived(33)) << "it has one half only";
  static_cast<void>(ring_.update());
  EXPECT_FALSE(ring_.arrived(65));
  EXPECT_FALSE(ring_.arrived(0x1fff'ffff));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(write(1));
  EXPECT_FALSE(ring_.arrived(1)) << "more messages than it has credit for";
}

TEST_F(Ring, EmptyMessagesTakeNoPlace) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(ring_.arrived(0));
  EXPECT_TRUE(ring_.empty());
}

TEST(RsocketWindow, SegmentsAndCredits) {
  Offer peer = offer_with_rows(2);
  peer.credits = 3;
  peer.buffer = {0x1000, 7, 100};
  SendWindow window(peer);
  EXPECT_TRUE(window.has_credit());
  Segment to = window.spend(60);
  EXPECT_EQ(to.address, 0x1000U);
  EXPECT_EQ(to.length, 60U);
  to = window.spend(60);
  EXPECT_EQ(to.address, 0x1000U + 60);
  EXPECT_EQ(to.length, 40U) << "no more than the segment has";
  EXPECT_FALSE(window.has_room());
  EXPECT_FALSE(window.wants_row()) << "none was announced";
  window.announced();
  ASSERT_TRUE(window.wants_row());
  EXPECT_EQ(window.row(), 1U);
  window.took_row({0x2000, 8, 50});
  EXPECT_EQ(window.row(), 0U);
  window.spend(1);
  EXPECT_FALSE(window.has_credit());
  window.credits(0x1'0004);
  EXPECT_TRUE(window.has_credit());
}

TEST(RsocketWindow, SendRingWraps) {
  SendRing ring(10);
  auto place = ring.take(7);
  EXPECT_EQ(place.at, 0U);
  ring.give_back(7);
  place = ring.take(8);
  EXPECT_EQ(place.at, 7U);
  EXPECT_EQ(place.first, 3U);
  EXPECT_EQ(place.second, 5U);
  EXPECT_EQ(ring.free(), 2U);
  place = ring.take(2);
  EXPECT_EQ(place.at, 5U);
}

}  // namespace
}  // namespace softrnic::rsocket
