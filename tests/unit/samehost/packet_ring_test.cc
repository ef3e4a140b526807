// The ring of packets in shared memory: what comes out is what went in, whoever writes or dies.
#include <gtest/gtest.h>

#include <cstring>
#include <stop_token>
#include <thread>
#include <vector>

#include "tests/unit/samehost/packet_ring_fixture.h"
#include "transport/ib/path_window.h"

namespace softrnic::samehost::test {
namespace {

// ---- what goes in comes out

TEST_F(PacketRingTest, CarriesHeadersPayloadRouteAndHowManyPacketsItStandsFor) {
  RingWriter writer(*ring);
  RingReader reader(*ring);
  EXPECT_FALSE(reader.any());
  EXPECT_FALSE(reader.front());
  Packet packet(7, 1001);
  packet.tx.packets = 3;
  packet.tx.headers.bth.destination = Qpn{0x020022};
  ASSERT_TRUE(writer.write(packet.tx, false));
  EXPECT_TRUE(reader.any());
  const auto got = take(reader);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->record.kind, RingKind::packet);
  EXPECT_EQ(got->record.packets, 3U);
  EXPECT_EQ(got->headers.bth.destination, (Qpn{0x020022}));
  EXPECT_EQ(got->payload, packet.payload);
  EXPECT_EQ(got->route.source, packet.path.source);
  EXPECT_EQ(got->route.destination, packet.path.destination);
  EXPECT_EQ(got->route.traffic_class, 32);
  EXPECT_EQ(got->route.hop_limit, 7);
  EXPECT_FALSE(reader.any());
}

TEST_F(PacketRingTest, ARouteIsToldWhenItChanges) {
  RingWriter writer(*ring);
  RingReader reader(*ring);
  const Packet first(1, 0, path_to(2)), second(2, 0, path_to(2)), third(3, 0, path_to(3));
  ASSERT_TRUE(writer.write(first.tx, false));
  const std::size_t with_route = writer.unread();
  ASSERT_TRUE(writer.write(second.tx, false));
  EXPECT_EQ(writer.unread(), with_route + kRingLine) << "the same route once more";
  ASSERT_TRUE(writer.write(third.tx, false));
  EXPECT_EQ(take(reader)->route.destination, first.path.destination);
  EXPECT_EQ(take(reader)->route.destination, first.path.destination);
  EXPECT_EQ(take(reader)->route.destination, third.path.destination);
}

TEST_F(PacketRingTest, NamesPiecesInsteadOfAPayload) {
  RingWriter writer(*ring);
  RingReader reader(*ring);
  Packet packet(9, 10'001);
  packet.tx.headers.bth.opcode = wire::Opcode::rc_write_only;
  packet.tx.headers.reth = {0x1000, MemoryKey(5), 10'001};
  ASSERT_TRUE(writer.write(packet.tx, true));
  const auto got = take(reader);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->record.kind, RingKind::rendezvous);
  EXPECT_EQ(got->record.payload_bytes, 10'001U);
  EXPECT_EQ(got->headers.bth.pad, 0);
  EXPECT_EQ(got->headers.reth.length, 10'001U);
  EXPECT_TRUE(got->payload.empty());
  ASSERT_EQ(got->pieces.size(), 2U);
  EXPECT_EQ(got->pieces[0].address, reinterpret_cast<std::uint64_t>(packet.payload.data()));
  EXPECT_EQ(got->pieces[0].bytes + got->pieces[1].bytes, 10'001U);
  EXPECT_EQ(got->pieces[1].address, got->pieces[0].address + got->pieces[0].bytes);
  EXPECT_EQ(got->pieces[1].key, kKey);
}

TEST_F(PacketRingTest, CarriesEagerSendsBetweenPacketsInOrder) {
  RingWriter writer(*ring);
  RingReader reader(*ring);
  for (const std::size_t bytes : {0UL, 1UL, 8UL, 24UL, 25UL, 1024UL}) {
    const auto payload = pattern(bytes, 3);
    const Packet packet(7, 100);
    ib::EagerSend eager{.destination = Qpn{0x020022},
                        .psn = 0xfffffe,
                        .immediate = 0x01020304,
                        .pkey = 0x8001,
                        .has_immediate = true,
                        .solicited = true,
                        .payload = payload};
    ASSERT_TRUE(writer.write(packet.tx, false));
    ASSERT_TRUE(writer.write(eager, packet.path, 77));
    RingEagerSend got;
    EXPECT_FALSE(reader.front(got)) << "a packet is before it";
    ASSERT_TRUE(take(reader));
    EXPECT_FALSE(reader.front()) << "it is no packet";
    EXPECT_FALSE(reader.broken());
    ASSERT_TRUE(reader.front(got));
    EXPECT_EQ(got.token, 77U);
    EXPECT_EQ(got.route->source, packet.path.source);
    EXPECT_EQ(got.eager.destination, eager.destination);
    EXPECT_EQ(got.eager.psn, eager.psn);
    EXPECT_EQ(got.eager.immediate, eager.immediate);
    EXPECT_EQ(got.eager.pkey, eager.pkey);
    EXPECT_TRUE(got.eager.has_immediate && got.eager.solicited);
    EXPECT_TRUE(inside(got.eager.payload.data(), bytes));
    EXPECT_TRUE(
        std::equal(payload.begin(), payload.end(), got.eager.payload.begin(), got.eager.payload.end()));
    reader.pop();
    reader.give_back();
    EXPECT_FALSE(reader.any());
  }
}

TEST_F(PacketRingTest, PiecesAsManyAsAPacketMayHave) {
  RingWriter writer(*ring);
  RingReader reader(*ring);
  Packet packet(9, ib::TxPacket::kMaxFragments);
  packet.tx.fragment_count = ib::TxPacket::kMaxFragments;
  for (std::size_t i = 0; i < ib::TxPacket::kMaxFragments; ++i)
    packet.tx.fragments[i] = {packet.payload.data() + i, 1, kKey};
  ASSERT_TRUE(writer.write(packet.tx, true));
  EXPECT_EQ(take(reader)->pieces.size(), ib::TxPacket::kMaxFragments);
}

// ---- round and round

TEST_F(PacketRingTest, SizesOfAllKindsGoRoundManyTimes) {
  RingWriter writer(*ring);
  RingReader reader(*ring);
  Dice dice(1);
  std::uint32_t written = 0, read = 0;
  std::vector<std::size_t> sizes;
  while (read < 2000) {
    const std::size_t bytes = dice.below(4) == 0 ? dice.below(65'537) : dice.below(300);
    if (put(writer, written, bytes)) {
      sizes.push_back(bytes);
      ++written;
      if (dice.below(3) != 0) continue;
    }
    for (std::uint32_t n = dice.below(8); read < written && n > 0; --n, ++read)
      ASSERT_NO_FATAL_FAILURE(expect_packet(reader, read, sizes[read]));
    reader.give_back();
  }
  EXPECT_GT(writer.position_read(), 20 * kRingBytes);
  EXPECT_FALSE(reader.broken());
}

// The long record takes four lines.
TEST_F(PacketRingTest, SkipsWhateverIsLeftAtTheEnd) {
  constexpr std::size_t kLong = 3 * kRingLine;
  for (std::size_t left = 1; left <= 5; ++left) {
    ring = std::make_unique<PacketRing>();
    RingWriter writer(*ring);
    RingReader reader(*ring);
    std::uint32_t psn = 0;
    do {
      ASSERT_TRUE(put(writer, psn, 0));
      expect_packet(reader, psn++, 0);
      reader.give_back();
    } while (writer.position_read() % kRingBytes != kRingBytes - left * kRingLine);
    ASSERT_TRUE(put(writer, psn, kLong)) << left << " lines left";
    ASSERT_TRUE(put(writer, psn + 1, 8));
    expect_packet(reader, psn, kLong);
    expect_packet(reader, psn + 1, 8);
    EXPECT_FALSE(reader.any());
    EXPECT_FALSE(reader.broken());
  }
}

TEST_F(PacketRingTest, AFullRingTakesNothingUntilMemoryIsGivenBack) {
  RingWriter writer(*ring);
  RingReader reader(*ring);
  std::uint32_t written = 0;
  while (put(writer, written, 8)) ++written;
  EXPECT_EQ(writer.room(), 0U);
  EXPECT_LE(writer.unread(), kRingBytes - kRingLine);
  EXPECT_GE(writer.unread(), kRingBytes - 2 * kRingLine);
  for (std::uint32_t psn = 0; psn < 10; ++psn) expect_packet(reader, psn, 8);
  EXPECT_FALSE(put(writer, written, 8)) << "taken, but not given back";
  reader.give_back();
  EXPECT_TRUE(put(writer, written, 8));
  for (std::uint32_t psn = 10; psn <= written; ++psn) ASSERT_NO_FATAL_FAILURE(expect_packet(reader, psn, 8));
  EXPECT_FALSE(reader.any());
}

TEST_F(PacketRingTest, WhatIsLongerThanTheRingIsRefused) {
  RingWriter writer(*ring);
  EXPECT_FALSE(put(writer, 1, kRingBytes));
  EXPECT_FALSE(put(writer, 1, 4 * kRingBytes));
  EXPECT_TRUE(put(writer, 2, 64 * 1024));
}

// UC and UD go by room(), and must never lose what it allowed.
TEST_F(PacketRingTest, WhatRoomAllowsFitsInWhereverTheRingStands) {
  RingWriter writer(*ring);
  RingReader reader(*ring);
  Dice dice(2);
  std::uint32_t psn = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint32_t bytes = dice.below(65'537);
    if (ib::datagram_cost(bytes) <= writer.room()) {
      ASSERT_TRUE(writer.write(Packet(psn++, bytes, path_to(static_cast<std::uint32_t>(i))).tx, false));
    } else {
      for (std::uint32_t n = dice.below(6); n > 0 && take(reader); --n) continue;
      reader.give_back();
    }
  }
  EXPECT_GT(psn, 500U);
}

// ---- writers that die

TEST_F(PacketRingTest, ANewWriterGoesOnBehindWhatTheLastOneWrote) {
  RingReader reader(*ring);
  Dice dice(3);
  std::uint32_t written = 0, read = 0;
  std::vector<std::size_t> sizes;
  for (int writers = 0; writers < 1000; ++writers) {
    RingWriter writer(*ring);
    for (std::uint32_t n = dice.below(4); n > 0; --n) {
      const std::size_t bytes = dice.below(9000);
      if (!put(writer, written, bytes)) break;
      sizes.push_back(bytes);
      ++written;
    }
    for (std::uint32_t n = dice.below(5); n > 0 && read < written; --n, ++read)
      ASSERT_NO_FATAL_FAILURE(expect_packet(reader, read, sizes[read]));
    if (dice.below(2) == 0) reader.give_back();
  }
  EXPECT_GT(ring->read.load(), kRingBytes);
}

// A writer that is killed has stored some of the bytes of its last record, but not its size. Whichever they
// are, nobody sees them, and the next writer writes over them.
TEST_F(PacketRingTest, ARecordThatWasHalfWrittenIsNotThere) {
  RingReader reader(*ring);
  std::uint32_t psn = 0;
  for (std::size_t bytes : {0U, 100U, 4096U, 65'536U}) {
    for (const bool to_the_end : {false, true}) {
      {
        RingWriter writer(*ring);
        ASSERT_TRUE(put(writer, psn, bytes));
        expect_packet(reader, psn++, bytes);
        reader.give_back();
        const std::size_t begin = writer.position_read() % kRingBytes + sizeof(RingRecord().size);
        const std::size_t stored = to_the_end ? std::min(bytes + 12, kRingBytes - begin) : 12;
        std::memset(ring->records + begin, 0xab, stored);
      }
      EXPECT_FALSE(reader.any());
      RingWriter next(*ring);
      EXPECT_EQ(next.unread(), 0U);
      ASSERT_TRUE(put(next, psn, bytes));
      ASSERT_TRUE(put(next, psn + 1, 1));
      expect_packet(reader, psn++, bytes);
      expect_packet(reader, psn++, 1);
      EXPECT_FALSE(reader.any());
    }
  }
}

TEST_F(PacketRingTest, AWriterThatDiedBehindASkipIsFollowed) {
  RingReader reader(*ring);
  RingWriter first(*ring);
  std::uint32_t psn = 0;
  for (; psn < kRingBytes / kRingLine - 3; ++psn) {
    ASSERT_TRUE(put(first, psn, 0));
    ASSERT_NO_FATAL_FAILURE(expect_packet(reader, psn, 0));
    if (psn == 100) reader.give_back();
  }
  forge(0, {.size = 0});
  forge(kRingBytes / kRingLine - 2, {.size = 2 * kRingLine, .kind = RingKind::skip});
  RingWriter second(*ring);
  ASSERT_TRUE(put(second, psn, 30));
  expect_packet(reader, psn, 30);
  EXPECT_FALSE(reader.any());
}

// ---- two sides at once

TEST_F(PacketRingTest, OneThreadWritesWhileAnotherReads) {
  constexpr std::uint32_t kPackets = 20'000;
  const std::jthread sender([&](const std::stop_token& stop) {
    Dice dice(5);
    RingWriter writer(*ring);
    for (std::uint32_t psn = 0; psn < kPackets; ++psn) {
      const Packet packet(psn, dice.below(2000), path_to(psn / 64));
      while (!writer.write(packet.tx, psn % 5 == 0) && !stop.stop_requested()) std::this_thread::yield();
    }
  });
  RingReader reader(*ring);
  Dice dice(5);
  for (std::uint32_t psn = 0; psn < kPackets; ++psn) {
    auto got = take(reader);
    for (; !got && !reader.broken(); got = take(reader)) std::this_thread::yield();
    const std::size_t bytes = dice.below(2000);
    ASSERT_TRUE(got);
    ASSERT_EQ(got->headers.bth.psn, psn);
    ASSERT_EQ(got->record.payload_bytes, bytes);
    ASSERT_EQ(got->route.destination, path_to(psn / 64).destination);
    ASSERT_TRUE(psn % 5 == 0 || got->payload == pattern(bytes, psn));
    if (psn % 16 == 0) reader.give_back();
  }
  EXPECT_FALSE(reader.any());
}

// Another thread may ask any() while the reader reads, finds the ring broken too.
TEST_F(PacketRingTest, AThirdThreadAsksWhetherAnythingIsThere) {
  constexpr std::uint32_t kPackets = 4000;  // once round at most
  RingReader reader(*ring);
  const std::jthread asker([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) static_cast<void>(reader.any());
  });
  RingWriter writer(*ring);
  for (std::uint32_t psn = 0; psn < kPackets; ++psn) {
    ASSERT_TRUE(put(writer, psn, 40));
    ASSERT_NO_FATAL_FAILURE(expect_packet(reader, psn, 40));
  }
}

}  // namespace
}  // namespace softrnic::samehost::test
