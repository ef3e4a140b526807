// What local peers may write into a ring of packets, and what must come of it: nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/unit/samehost/packet_ring_fixture.h"

namespace softrnic::samehost::test {
namespace {

struct Lie {
  const char* name;
  RingRecord record;
};

class LyingWriter : public PacketRingTest, public ::testing::WithParamInterface<Lie> {};

TEST_P(LyingWriter, BreaksTheRing) {
  RingWriter writer(*ring);
  RingReader reader(*ring);
  ASSERT_TRUE(put(writer, 1, 8));
  expect_packet(reader, 1, 8);
  forge(2, GetParam().record);
  EXPECT_FALSE(reader.front());
  EXPECT_TRUE(reader.broken());
  EXPECT_FALSE(reader.any());
  EXPECT_FALSE(reader.front());
}

constexpr RingRecord packet_of(std::uint32_t size, std::uint8_t headers, std::uint32_t payload,
                               std::uint32_t packets = 1) {
  return {size, RingKind::packet, headers, 0, payload, packets};
}
constexpr RingRecord pieces_of(std::uint32_t size, std::uint8_t headers, std::uint16_t pieces) {
  return {size, RingKind::rendezvous, headers, pieces, 10'000, 1};
}

INSTANTIATE_TEST_SUITE_P(PacketRing, LyingWriter,
                         ::testing::Values(Lie{"SizeBelowARecord", packet_of(8, 12, 0)},
                                           Lie{"SizeOfNoLines", packet_of(65, 12, 0)},
                                           Lie{"SizeBeyondTheEnd", packet_of(kRingBytes, 12, 0)},
                                           Lie{"SizeBeyondAll", packet_of(0xffff'ffc0, 12, 0)},
                                           Lie{"SizeOfSkipBeyondTheEnd", {kRingBytes, RingKind::skip}},
                                           Lie{"UnknownKind", {64, static_cast<RingKind>(5)}},
                                           Lie{"HeadersBeyondTheRecord", packet_of(64, 49, 0)},
                                           Lie{"PayloadBeyondTheRecord", packet_of(64, 12, 37)},
                                           Lie{"PadBeyondTheRecord", packet_of(64, 13, 34)},
                                           Lie{"PayloadThatWrapsAround", packet_of(64, 12, 0xffff'fff4)},
                                           Lie{"NoPackets", packet_of(64, 12, 0, 0)},
                                           Lie{"TooManyPackets", packet_of(64, 12, 0, 65'537)},
                                           Lie{"PiecesBeyondTheRecord", pieces_of(64, 12, 3)},
                                           Lie{"HeadersBehindPiecesBeyondTheRecord", pieces_of(64, 33, 1)},
                                           Lie{"MorePiecesThanAPacketHas", pieces_of(1024, 12, 35)},
                                           Lie{"AsManyPiecesAsCanBeSaid", pieces_of(1024, 12, 0xffff)}),
                         [](const auto& lie) { return std::string(lie.param.name); });

// What the limits allow just so is read.
TEST_F(PacketRingTest, RecordsAtTheLimitsAreRead) {
  const RingRecord good[] = {packet_of(64, 12, 36), packet_of(64, 48, 0), packet_of(64, 12, 0, 65'536),
                             pieces_of(64, 16, 2), pieces_of(1024, 12, 34)};
  for (const RingRecord& record : good) {
    ring = std::make_unique<PacketRing>();
    RingReader reader(*ring);
    forge(0, record);
    const auto packet = reader.front();
    ASSERT_TRUE(packet);
    EXPECT_TRUE(inside(packet->headers.data(), packet->headers.size()));
    EXPECT_TRUE(inside(packet->pieces.data(), packet->pieces.size_bytes()));
  }
}

TEST_F(PacketRingTest, RecordsThatRunInACircleEndTheReading) {
  for (const RingKind kind : {RingKind::route, RingKind::skip}) {
    RingReader reader(*ring);
    for (std::size_t i = 0; i < kRingBytes / kRingLine; ++i) forge(i, {.size = kRingLine, .kind = kind});
    EXPECT_FALSE(reader.front());
    EXPECT_TRUE(reader.broken());
  }
}

// The reader says how far it is; a writer that takes this on must not write beside the ring for it.
TEST_F(PacketRingTest, APositionThatIsNoLineDoesNotMisleadAWriter) {
  for (const std::uint64_t lie : {std::uint64_t{1}, std::uint64_t{kRingBytes - 1}, ~std::uint64_t{0}}) {
    ring = std::make_unique<PacketRing>();
    ring->read.store(lie);
    RingWriter writer(*ring);
    for (std::uint32_t psn = 0; psn < 20'000; ++psn) put(writer, psn, psn % 3000);
    const auto* behind = ring->records + kRingBytes;
    const auto* end = reinterpret_cast<const std::byte*>(ring.get() + 1);
    EXPECT_TRUE(std::all_of(behind, end, [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST_F(PacketRingTest, APositionThatJumpsDoesNotMisleadAWriter) {
  RingWriter writer(*ring);
  Dice dice(4);
  Packet packet(0, 65'536);
  for (std::uint32_t psn = 0; psn < 20'000; ++psn) {
    ring->read.store(dice.any());
    static_cast<void>(writer.room());
    packet.become(psn, dice.below(65'537));
    writer.write(packet.tx, false);
  }
  const auto* behind = ring->records + kRingBytes;
  const auto* end = reinterpret_cast<const std::byte*>(ring.get() + 1);
  EXPECT_TRUE(std::all_of(behind, end, [](std::byte b) { return b == std::byte{0}; }));
}

}  // namespace
}  // namespace softrnic::samehost::test
