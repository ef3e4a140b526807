// What the tests of packet rings share: packets with patterns, and a reader that looks whether
// all lies inside the ring.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "samehost/packet_ring.h"
#include "wire/headers.h"

namespace softrnic::samehost::test {

inline constexpr MemoryKey kKey{0x1234};

inline std::vector<std::byte> pattern(std::size_t bytes, std::uint32_t seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + seed + (i >> 8));
  return out;
}

inline ib::AddressVector path_to(std::uint32_t last_byte) {
  ib::AddressVector path;
  path.source = wire::Gid::from_ipv4_be(0x0100007f);
  path.destination = wire::Gid::from_ipv4_be(0x0000007f | last_byte << 24);
  path.traffic_class = 32;
  path.hop_limit = 7;
  return path;
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : numbers_(seed) {}
  std::uint64_t any() { return numbers_(); }
  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(numbers_() % end); }

 private:
  std::mt19937_64 numbers_;
};

/// A packet with what it points to.
struct Packet {
  explicit Packet(std::uint32_t psn, std::size_t bytes = 0, ib::AddressVector to = path_to(2))
      : path(to), payload(pattern(bytes, psn)) {
    tx.path = &path;
    tx.headers.bth.opcode = wire::Opcode::rc_send_only;
    become(psn, bytes);
  }
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  /// Another one, with the first `bytes` of the payload: to fill that anew would take most of the time.
  void become(std::uint32_t psn, std::size_t bytes) {
    tx.headers.bth.psn = psn & wire::kPsnMask;
    tx.headers.bth.pad = wire::pad_for(static_cast<std::uint32_t>(bytes));
    tx.payload_bytes = static_cast<std::uint32_t>(bytes);
    tx.fragment_count = bytes != 0 ? 2 : 0;
    const std::size_t half = bytes / 2;
    tx.fragments[0] = {payload.data(), half, kKey};
    tx.fragments[1] = {payload.data() + half, bytes - half, kKey};
  }

  ib::AddressVector path;
  std::vector<std::byte> payload;
  ib::TxPacket tx;
};

/// What the reader made of a record, copied out of the ring.
struct Read {
  wire::Headers headers;
  std::vector<std::byte> payload;
  RingRecord record;
  RingRoute route;
  std::vector<RingPiece> pieces;
};

class PacketRingTest : public ::testing::Test {
 protected:
  bool inside(const void* begin, std::size_t bytes) const {
    const auto* at = static_cast<const std::byte*>(begin);
    return bytes == 0 || (at >= ring->records && at + bytes <= ring->records + kRingBytes);
  }
  /// Takes the oldest packet off, without giving its memory back.
  std::optional<Read> take(RingReader& from) const {
    const auto packet = from.front();
    if (!packet) return std::nullopt;
    EXPECT_TRUE(inside(packet->headers.data(), packet->headers.size()));
    EXPECT_TRUE(inside(packet->pieces.data(), packet->pieces.size_bytes()));
    Read out;
    out.record = packet->record;
    out.route = *packet->route;
    out.pieces.assign(packet->pieces.begin(), packet->pieces.end());
    const auto parsed = wire::parse(packet->headers);
    EXPECT_TRUE(parsed);
    if (parsed) {
      out.headers = parsed->headers;
      out.payload.assign(parsed->payload.begin(), parsed->payload.end());
    }
    from.pop();
    return out;
  }
  void expect_packet(RingReader& from, std::uint32_t psn, std::size_t bytes) const {
    const auto got = take(from);
    ASSERT_TRUE(got) << "no packet; expected psn " << psn;
    EXPECT_EQ(got->headers.bth.psn, psn & wire::kPsnMask);
    EXPECT_TRUE(got->payload == pattern(bytes, psn)) << "psn " << psn;
  }
  static bool put(RingWriter& to, std::uint32_t psn, std::size_t bytes) {
    return to.write(Packet(psn, bytes).tx, false);
  }
  std::byte* line(std::size_t number) const { return ring->records + number * kRingLine; }
  void forge(std::size_t at_line, const RingRecord& record) const {
    std::memcpy(line(at_line), &record, sizeof record);
  }

  std::unique_ptr<PacketRing> ring = std::make_unique<PacketRing>();
};

}  // namespace softrnic::samehost::test
