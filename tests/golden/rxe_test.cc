// The kernel's soft RoCE driver as the judge of our formats: every captured packet has to decode, to
// re-encode to the same bytes and to carry the ICRC that we compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/pcap_reader.h"
#include "wire/frame.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/print.h"

namespace softrnic::wire {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> captures() { return testing::captures_in(SOFTRNIC_GOLDEN_DIR, testing::Captured::rxe); }

struct RocePacket {
  Bytes bytes;  ///< the whole frame
  Frame frame;
  Packet packet;
  Bytes covered() const { return frame.udp_payload.first(frame.udp_payload.size() - kIcrcBytes); }
  std::uint32_t icrc() const {
    std::uint32_t stored;  // little-endian, IBTA 7.8.1 with A17.3.2
    std::memcpy(&stored, frame.udp_payload.data() + covered().size(), sizeof stored);
    return stored;
  }
};

bool is_roce(const Expected<Frame, FrameError>& frame) {
  return frame && frame->headers.flow.destination_port == kRoceUdpPort &&
         frame->udp_payload.size() >= kIcrcBytes;
}

std::uint32_t icrc_of(const Flow& flow, std::uint16_t ip_id, Bytes covered) {
  Icrc icrc(flow, covered.size() + kIcrcBytes, ip_id);
  icrc.add_headers(covered);
  return icrc.value();
}

class Rxe : public ::testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    const auto file = testing::read_pcap(GetParam());
    ASSERT_TRUE(file.has_value());
    ASSERT_EQ(file->link_type, 1U);
    frames_ = file->packets;
    for (const auto& bytes : frames_) {
      const auto frame = parse_frame(bytes);
      if (!is_roce(frame)) continue;
      const auto packet = parse(frame->udp_payload.first(frame->udp_payload.size() - kIcrcBytes));
      ASSERT_TRUE(packet) << "packet " << packets_.size() << " error " << static_cast<int>(packet.error());
      packets_.push_back({bytes, *frame, *packet});
    }
    ASSERT_FALSE(packets_.empty());
  }

  std::vector<std::vector<std::byte>> frames_;
  std::vector<RocePacket> packets_;
};

TEST_P(Rxe, ReencodesBitForBit) {
  for (const RocePacket& p : packets_) {
    std::array<std::byte, kMaxFrameHeaderBytes + kMaxHeaderBytes> space;
    const std::size_t below = encode_frame(p.frame.headers, p.frame.udp_payload.size(), space);
    const std::size_t headers = below + encode(p.packet.headers, MutableBytes(space).subspan(below));
    std::vector<std::byte> out(space.begin(), space.begin() + static_cast<std::ptrdiff_t>(headers));
    out.insert(out.end(), p.packet.payload.begin(), p.packet.payload.end());
    out.resize(out.size() + pad_for(p.packet.payload.size()));
    const std::uint32_t icrc =
        icrc_of(p.frame.headers.flow, p.frame.headers.ip_id, Bytes(out).subspan(below));
    const auto* tail = reinterpret_cast<const std::byte*>(&icrc);
    out.insert(out.end(), tail, tail + sizeof icrc);
    ASSERT_TRUE(std::equal(out.begin(), out.end(), p.bytes.begin(), p.bytes.end())) << to_string(p.packet);
  }
}

// A UDP socket shows addresses, ports and payload, but not the identification.
TEST_P(Rxe, IdentificationIsSolvedFor) {
  for (const RocePacket& p : packets_) {
    const FrameHeaders& h = p.frame.headers;
    if (!h.flow.destination.is_ipv4()) continue;
    const std::uint32_t with_zero = icrc_of(h.flow, 0, p.covered());
    ASSERT_EQ(solve_ip_id(with_zero, p.icrc(), p.frame.udp_payload.size()), h.ip_id) << to_string(p.packet);
    ASSERT_EQ(h.ip_flags, kIpv4DontFragment);
  }
}

TEST_P(Rxe, IcrcInPiecesIsTheSame) {
  for (const RocePacket& p : packets_) {
    const std::size_t headers =
        static_cast<std::size_t>(p.packet.payload.data() - p.frame.udp_payload.data());
    Icrc icrc(p.frame.headers.flow, p.frame.udp_payload.size(), p.frame.headers.ip_id);
    icrc.add_headers(p.covered().first(headers));
    for (Bytes rest = p.covered().subspan(headers); !rest.empty();) {
      const std::size_t n = std::min<std::size_t>(rest.size(), 1 + rest.size() / 3);
      icrc.add(rest.first(n));
      rest = rest.subspan(n);
    }
    ASSERT_EQ(icrc.value(), p.icrc()) << to_string(p.packet);
  }
}

TEST_P(Rxe, EveryBitOfTheUdpPayloadIsCoveredButTheMaskedByte) {
  const RocePacket& p = packets_.front();
  std::vector<std::byte> copy(p.covered().begin(), p.covered().end());
  for (std::size_t i = 0; i < copy.size(); ++i) {
    copy[i] ^= std::byte{0x10};
    const bool same = icrc_of(p.frame.headers.flow, p.frame.headers.ip_id, copy) == p.icrc();
    EXPECT_EQ(same, i == 4) << i;
    copy[i] ^= std::byte{0x10};
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, Rxe, ::testing::ValuesIn(captures()),
                         [](const auto& capture) { return testing::capture_test_name(capture.param); });

// What the captures are there for; a file gone missing would otherwise pass unnoticed.
TEST(RxeCaptures, HoldWhatTheyPromise) {
  std::map<Opcode, int> opcodes;
  std::map<SyndromeKind, int> syndromes;
  int mads = 0;
  for (const auto& path : captures()) {
    const auto file = testing::read_pcap(path);
    ASSERT_TRUE(file.has_value());
    for (const auto& bytes : file->packets) {
      const auto frame = parse_frame(bytes);
      if (!is_roce(frame)) continue;
      const auto packet = parse(frame->udp_payload.first(frame->udp_payload.size() - kIcrcBytes));
      ASSERT_TRUE(packet);
      ++opcodes[packet->info->opcode];
      if (packet->info->has(kAeth)) ++syndromes[syndrome_kind(packet->headers.aeth.syndrome)];
      if (packet->headers.bth.destination == Qpn(1)) {
        ++mads;
        EXPECT_EQ(packet->payload.size(), 256U);            // IBTA 13.4.2: MADs are 256 bytes
        EXPECT_EQ(packet->headers.deth.qkey, 0x80010000U);  // IBTA 10.2.5: the well-known Q_Key of QP1
      }
    }
  }
  EXPECT_EQ(captures().size(), 16U);
  EXPECT_GT(mads, 20);
  EXPECT_GT(syndromes[SyndromeKind::ack], 0);
  EXPECT_GT(syndromes[SyndromeKind::nak], 10);
  for (Opcode opcode :
       {Opcode::rc_send_first, Opcode::rc_send_only, Opcode::rc_write_first, Opcode::rc_write_only,
        Opcode::rc_read_request, Opcode::rc_read_response_middle, Opcode::rc_acknowledge,
        Opcode::rc_atomic_acknowledge, Opcode::rc_compare_swap, Opcode::rc_fetch_add, Opcode::uc_send_first,
        Opcode::ud_send_only, Opcode::ud_send_only_imm}) {
    EXPECT_GT(opcodes[opcode], 0) << opcode_info(opcode).name;
  }
}

}  // namespace
}  // namespace softrnic::wire
