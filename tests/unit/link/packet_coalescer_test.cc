#include "link/packet_coalescer.h"

#include <gtest/gtest.h>

#include <optional>

#include "link/packet_segmenter.h"
#include "tests/unit/link/link_fixture.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::link::test {
namespace {

using wire::Opcode;

constexpr std::size_t kSmallMtu = 256;

/// A packet as it lies in a datagram: BTH up to and including pad.
std::vector<std::byte> bytes_of(const ib::TxPacket& packet) {
  std::vector<std::byte> out(wire::kMaxHeaderBytes);
  wire::Headers headers = packet.headers;
  headers.bth.pad = wire::pad_for(packet.payload_bytes);
  out.resize(wire::encode(headers, out));
  for (std::size_t i = 0; i < packet.fragment_count; ++i)
    out.insert(out.end(), packet.fragments[i].data, packet.fragments[i].data + packet.fragments[i].size);
  out.resize(out.size() + headers.bth.pad);
  return out;
}

/// Puts packets together as long as they go on with each other.
class Row {
 public:
  /// Whether the packet is part of the row.
  bool add(const ib::TxPacket& packet) {
    bytes_.push_back(bytes_of(packet));
    const Bytes bytes = bytes_.back();
    if (bytes_.size() == 1) {
      EXPECT_TRUE(wire::parse_into(bytes, rx_.packet));
      run_.begin(rx_, bytes);
      return true;
    }
    if (!run_.goes_on_with(bytes)) return false;
    run_.take();
    return true;
  }
  /// The same for one that is not taken along, whatever the answer is.
  bool could_add(const ib::TxPacket& packet) {
    bytes_.push_back(bytes_of(packet));
    return run_.goes_on_with(bytes_.back());
  }
  bool copy(std::size_t offset, std::byte* to, std::size_t size) { return run_.copy(offset, to, size); }
  const ib::RxPacket& joined() {
    run_.join();
    return rx_;
  }
  std::vector<std::byte> payload() {
    std::vector<std::byte> out(joined().payload_bytes());
    EXPECT_TRUE(ib::copy(rx_.payload(), 0, out.data(), out.size()));
    return out;
  }

 private:
  std::deque<std::vector<std::byte>> bytes_;
  ib::RxPacket rx_;
  PacketCoalescer run_;
};

class PacketCoalescerTest : public ::testing::Test {
 protected:
  ib::TxPacket middle(std::uint32_t psn) {
    return maker_.make(Opcode::rc_write_middle, psn, pattern(kSmallMtu, psn));
  }
  PacketMaker maker_;
  Row row_;
};

TEST_F(PacketCoalescerTest, PutsAMessageTogetherAgain) {
  for (const Opcode opcode : {Opcode::rc_write_only, Opcode::rc_write_only_imm, Opcode::rc_send_only_inv,
                              Opcode::rc_read_response_only, Opcode::uc_send_only_imm, Opcode::rc_write_first,
                              Opcode::rc_send_middle, Opcode::uc_write_last_imm}) {
    const bool ends = wire::opcode_info(opcode).ends();
    const auto payload = pattern(7 * kSmallMtu + (ends ? 33 : kSmallMtu), 3);
    ib::TxPacket whole = maker_.make(opcode, 0xfffffd, payload, 3);
    whole.packets = 8;
    whole.path_mtu = kSmallMtu;
    whole.headers.bth.ack_request = whole.headers.bth.solicited = ends;
    whole.headers.reth = {0x12345678, MemoryKey(9), 5000};
    whole.headers.aeth = {wire::kAckUnlimitedCredits, 77};
    whole.headers.immediate = 42;
    whole.headers.invalidate = MemoryKey(43);
    Row row;
    PacketSegmenter split;
    std::size_t parts = 0;
    for_each_packet(whole, split, [&](const ib::TxPacket& part) {
      EXPECT_LE(part.payload_bytes, kSmallMtu);
      EXPECT_TRUE(row.add(part)) << parts;
      ++parts;
    });
    EXPECT_EQ(parts, 8U);
    const ib::RxPacket& rx = row.joined();
    EXPECT_EQ(rx.packet.info->opcode, opcode);
    EXPECT_EQ(rx.packet.headers.bth.opcode, opcode);
    EXPECT_EQ(rx.packet.headers.bth.psn, 0xfffffdU);
    EXPECT_EQ(rx.packet.headers.bth.ack_request, ends);
    EXPECT_EQ(rx.packet.headers.bth.solicited, ends);
    EXPECT_EQ(rx.packets, 8U);
    EXPECT_EQ(rx.first_opcode, wire::parts_of(opcode).first) << "it begins as the whole does";
    EXPECT_EQ(rx.first_bytes, kSmallMtu);
    EXPECT_TRUE(!rx.packet.info->has(wire::kReth) || rx.packet.headers.reth.address == 0x12345678U);
    EXPECT_TRUE(!rx.packet.info->has(wire::kAeth) || rx.packet.headers.aeth.msn == 77U);
    EXPECT_TRUE(!rx.packet.info->has(wire::kImmDt) || rx.packet.headers.immediate == 42U);
    EXPECT_TRUE(!rx.packet.info->has(wire::kIeth) || rx.packet.headers.invalidate.value == 43U);
    EXPECT_EQ(row.payload(), payload);
  }
}

// Who skips those that are alike knows all there is to know of them.
TEST(PacketSegmenter, ThosePassedOverAreTheNextOnesOfTheirKind) {
  for (const std::size_t pieces : {1U, 3U, 7U}) {
    PacketMaker maker;
    ib::TxPacket whole =
        maker.make(Opcode::rc_write_only_imm, 0xfffff9, pattern(19 * kSmallMtu + 5, 1), pieces);
    whole.packets = 20;
    whole.path_mtu = kSmallMtu;
    whole.headers.bth.ack_request = true;
    PacketSegmenter all, some;
    all.begin(whole);
    some.begin(whole);
    std::uint32_t passed_over = 0;
    while (!some.done()) {
      ib::TxPacket each = all.next();
      const ib::TxPacket part = some.next();
      EXPECT_EQ(bytes_of(part), bytes_of(each));
      const PacketSegmenter::Alike alike = some.alike();
      for (std::uint32_t i = 0; i < alike.count; ++i) {
        ib::TxPacket expected = part;
        expected.headers.bth.psn = (part.headers.bth.psn + i + 1) & wire::kPsnMask;
        expected.fragment_count = 1;
        expected.fragments[0] = {alike.payload + i * kSmallMtu, kSmallMtu};
        each = all.next();
        EXPECT_EQ(bytes_of(each), bytes_of(expected)) << i;
      }
      some.skip(alike.count);
      passed_over += alike.count;
    }
    EXPECT_TRUE(all.done());
    EXPECT_GE(passed_over, pieces == 1 ? 17U : 5U) << "all between the second and the last";
  }
}

TEST_F(PacketCoalescerTest, APacketByItselfStaysAsItIs) {
  ASSERT_TRUE(row_.add(middle(5)));
  EXPECT_EQ(row_.joined().packets, 1U);
  EXPECT_EQ(row_.joined().rendezvous, nullptr);
  EXPECT_EQ(row_.payload(), pattern(kSmallMtu, 5));
}

TEST_F(PacketCoalescerTest, AnAcknowledgeRequestOnTheWayCounts) {
  ib::TxPacket asking = middle(2);
  asking.headers.bth.ack_request = true;
  ASSERT_TRUE(row_.add(middle(1)) && row_.add(asking) && row_.add(middle(3)));
  EXPECT_TRUE(row_.joined().packet.headers.bth.ack_request);
  EXPECT_EQ(row_.joined().packets, 3U);
}

TEST_F(PacketCoalescerTest, AnyPieceOfThePayloadCanBeCopied) {
  for (std::uint32_t psn = 0; psn < 4; ++psn) ASSERT_TRUE(row_.add(middle(psn)));
  const auto whole = row_.payload();
  for (std::size_t from = 0; from < whole.size(); from += 61) {
    for (std::size_t size = 0; from + size <= whole.size(); size += 127) {
      std::vector<std::byte> piece(size);
      ASSERT_TRUE(ib::copy(row_.joined().payload(), from, piece.data(), size));
      ASSERT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<std::ptrdiff_t>(from)));
    }
  }
}

TEST_F(PacketCoalescerTest, NothingBeyondThePiecesIsCopied) {
  for (std::uint32_t psn = 0; psn < 3; ++psn) ASSERT_TRUE(row_.add(middle(psn)));
  ASSERT_TRUE(row_.add(maker_.make(Opcode::rc_write_last, 3, pattern(10, 3))));
  const std::size_t whole = row_.joined().payload_bytes();
  ASSERT_EQ(whole, 3 * kSmallMtu + 10);
  std::vector<std::byte> to(2 * whole);
  for (std::size_t offset = 0; offset <= whole + kSmallMtu; ++offset) {
    const std::size_t left = offset <= whole ? whole - offset : 0;
    EXPECT_EQ(row_.copy(offset, to.data(), left), offset <= whole);
    EXPECT_FALSE(row_.copy(offset, to.data(), left + 1));
    EXPECT_FALSE(row_.copy(offset, to.data(), ~std::size_t{0}));
  }
  EXPECT_FALSE(row_.copy(~std::size_t{0}, to.data(), 2)) << "their sum is 1";
}

// Whatever its pad is said to be, the size of the next one does not tell of it.
TEST_F(PacketCoalescerTest, NothingIsPutTogetherWithAPaddedPacketOfTheMiddle) {
  for (const std::size_t payload : {kSmallMtu - 1, kSmallMtu - 2, kSmallMtu - 3, kSmallMtu + 1}) {
    Row row;
    ASSERT_TRUE(row.add(maker_.make(Opcode::rc_send_first, 0, pattern(payload, 0))));
    EXPECT_FALSE(row.add(maker_.make(Opcode::rc_send_middle, 1, pattern(payload, 1))));
    EXPECT_EQ(row.joined().packets, 1U);
    EXPECT_EQ(row.payload(), pattern(payload, 0));
  }
}

TEST_F(PacketCoalescerTest, NothingElseGoesOnWithAMessage) {
  const auto changed = [&](auto change) {
    ib::TxPacket packet = middle(2);
    change(packet);
    Row row;
    return row.add(middle(0)) && row.add(middle(1)) && row.add(packet);
  };
  EXPECT_TRUE(changed([](ib::TxPacket&) {}));
  EXPECT_FALSE(changed([](ib::TxPacket& p) { p.headers.bth.psn = 3; })) << "a gap";
  EXPECT_FALSE(changed([](ib::TxPacket& p) { p.headers.bth.psn = 1; })) << "a duplicate";
  EXPECT_FALSE(changed([](ib::TxPacket& p) { p.headers.bth.destination = Qpn(0x010003); }));
  EXPECT_FALSE(changed([](ib::TxPacket& p) { p.headers.bth.pkey = 0x8001; }));
  EXPECT_FALSE(changed([](ib::TxPacket& p) { p.headers.bth.opcode = Opcode::rc_write_first; }));
  EXPECT_FALSE(changed([](ib::TxPacket& p) { p.headers.bth.opcode = Opcode::rc_write_only; }));
  EXPECT_FALSE(changed([](ib::TxPacket& p) { p.headers.bth.opcode = Opcode::rc_send_middle; }));
  EXPECT_FALSE(changed([](ib::TxPacket& p) { p.headers.bth.opcode = Opcode::uc_write_middle; }));
  EXPECT_FALSE(changed([](ib::TxPacket& p) { p.headers.bth.opcode = Opcode{0xff}; }));
  EXPECT_FALSE(changed([](ib::TxPacket& p) { p.fragments[0].size = p.payload_bytes = kSmallMtu - 4; }))
      << "short";
  EXPECT_FALSE(changed([](ib::TxPacket& p) { p.fragments[0].size = p.payload_bytes = kSmallMtu - 2; }))
      << "padded";
}

TEST_F(PacketCoalescerTest, AMessageEndsWithItsLastPacket) {
  ASSERT_TRUE(row_.add(middle(0)));
  ASSERT_TRUE(row_.add(maker_.make(Opcode::rc_write_last, 1, pattern(10, 1))));
  EXPECT_FALSE(row_.add(middle(2)));
  Row row;
  ASSERT_TRUE(row.add(maker_.make(Opcode::rc_write_only, 0, pattern(kSmallMtu, 0))));
  EXPECT_FALSE(row.add(middle(1)));
  Row longer;
  ASSERT_TRUE(longer.add(middle(0)));
  EXPECT_FALSE(longer.add(maker_.make(Opcode::rc_write_last, 1, pattern(kSmallMtu + 4, 1))))
      << "more than the MTU";
}

// It was damaged on the way: a message must not end where its last packet is missing.
TEST_F(PacketCoalescerTest, WhatIsNotTakenAlongLeavesNoTrace) {
  ASSERT_TRUE(row_.add(maker_.make(Opcode::rc_send_first, 0, pattern(kSmallMtu, 0))));
  ASSERT_TRUE(row_.add(maker_.make(Opcode::rc_send_middle, 1, pattern(kSmallMtu, 1))));
  ib::TxPacket last = maker_.make(Opcode::rc_send_last, 2, pattern(10, 2));
  last.headers.bth.ack_request = last.headers.bth.solicited = true;
  EXPECT_TRUE(row_.could_add(last));
  const ib::RxPacket& rx = row_.joined();
  EXPECT_EQ(rx.packet.info->opcode, Opcode::rc_send_first);
  EXPECT_EQ(rx.packet.headers.bth.opcode, Opcode::rc_send_first);
  EXPECT_EQ(rx.packets, 2U);
  EXPECT_FALSE(rx.packet.headers.bth.ack_request || rx.packet.headers.bth.solicited);
}

TEST_F(PacketCoalescerTest, HasAnEnd) {
  std::uint32_t psn = 0;
  while (psn < 1000 && row_.add(middle(psn))) ++psn;
  EXPECT_EQ(psn, 64U);
  EXPECT_EQ(row_.joined().packets, 64U);
  EXPECT_EQ(row_.payload().size(), 64 * kSmallMtu);
}

}  // namespace
}  // namespace softrnic::link::test
