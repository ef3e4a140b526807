// Linux's soft iWARP driver as the judge of our formats: every captured stream is taken apart into its MPA
// frame and FPDUs, each of which has to decode, to encode again to the same bytes, and to carry the CRC
// that we compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/golden/tcp_streams.h"
#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

namespace softrnic::wire {
namespace {

std::vector<std::filesystem::path> captures() {
  return testing::captures_in(SOFTRNIC_GOLDEN_DIR, testing::Captured::siw);
}

struct Counts {
  std::map<RdmapOpcode, int> opcodes;
  int with_crc = 0, without_crc = 0;
};

class Siw : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  void take_apart(const testing::TcpStream& stream);
  std::size_t frame(Bytes bytes, bool opened);
  std::size_t fpdu(Bytes bytes);
  void ddp(Bytes ulpdu);

  Counts counts_;
  bool crc_ = false;
};

std::size_t Siw::frame(Bytes bytes, bool opened) {
  const auto kind = opened ? MpaFrameKind::request : MpaFrameKind::reply;
  const auto parsed = parse_mpa_frame(kind, bytes.first(kMpaFrameBytes));
  EXPECT_TRUE(parsed);
  if (!parsed) return bytes.size();
  const std::size_t size = kMpaFrameBytes + parsed->private_bytes;
  std::vector<std::byte> again(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  std::fill_n(again.begin(), kMpaFrameBytes + kMpaEnhancedBytes, std::byte{});
  encode(*parsed, again);
  EXPECT_TRUE(parsed->enhanced);
  EXPECT_EQ(parsed->revision, 2);
  encode(parse_mpa_enhanced(bytes.subspan(kMpaFrameBytes)), MutableBytes(again).subspan(kMpaFrameBytes));
  EXPECT_TRUE(std::equal(again.begin(), again.end(), bytes.begin()));
  crc_ = parsed->crc;
  return size;
}

void Siw::ddp(Bytes ulpdu) {
  const auto header = parse_ddp(ulpdu);
  ASSERT_TRUE(header);
  const RdmapOpcodeInfo* const info = find_rdmap_opcode(header->opcode);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->tagged, header->tagged);
  EXPECT_TRUE(header->tagged || static_cast<std::uint32_t>(info->queue) == header->queue);
  std::vector<std::byte> again(kMaxDdpBytes);
  again.resize(encode(*header, again));
  const Bytes body = ulpdu.subspan(again.size());
  again.resize(ulpdu.size());
  if (info->operation == RdmapOperation::read_request) {
    ASSERT_EQ(body.size(), kReadRequestBytes);
    encode(parse_read_request(body), MutableBytes(again).last(body.size()));
  } else {
    std::copy(body.begin(), body.end(), again.end() - static_cast<std::ptrdiff_t>(body.size()));
  }
  EXPECT_TRUE(std::equal(again.begin(), again.end(), ulpdu.begin()));
  ++counts_.opcodes[info->opcode];
}

std::size_t Siw::fpdu(Bytes bytes) {
  const std::size_t ulpdu = load_be16(bytes.data());
  const std::size_t size = fpdu_bytes(ulpdu);
  EXPECT_LE(size, bytes.size());
  if (size > bytes.size()) return bytes.size();
  ddp(bytes.subspan(kFpduHeaderBytes, ulpdu));
  const Bytes covered = bytes.first(size - kFpduCrcBytes);
  // The pad is whatever stood in siw's memory, and covered by the CRC.
  std::uint32_t stored;
  std::memcpy(&stored, bytes.data() + covered.size(), sizeof stored);
  EXPECT_EQ(stored, crc_ ? ~crc32c_update(kCrc32cStart, covered) : 0U);
  ++(crc_ ? counts_.with_crc : counts_.without_crc);
  return size;
}

void Siw::take_apart(const testing::TcpStream& stream) {
  Bytes rest = stream.bytes;
  ASSERT_GE(rest.size(), kMpaFrameBytes + kMpaEnhancedBytes);
  rest = rest.subspan(frame(rest, stream.opened));
  while (!rest.empty()) {
    rest = rest.subspan(fpdu(rest));
    if (HasFailure()) return;
  }
}

TEST_P(Siw, EncodesAgainToTheByte) {
  const auto streams = testing::tcp_streams(GetParam());
  ASSERT_GE(streams.size(), 2U);
  for (const auto& [direction, stream] : streams) take_apart(stream);
  const bool has_crc = GetParam().stem().string().find("crc") != std::string::npos;
  EXPECT_EQ(counts_.with_crc > 0, has_crc);
  EXPECT_EQ(counts_.without_crc > 0, !has_crc);
  EXPECT_GT(counts_.opcodes[RdmapOpcode::send], 0);
}

INSTANTIATE_TEST_SUITE_P(Captures, Siw, ::testing::ValuesIn(captures()),
                         [](const auto& capture) { return testing::capture_test_name(capture.param); });

TEST(SiwCaptures, AreAllThere) { EXPECT_EQ(captures().size(), 6U); }

}  // namespace
}  // namespace softrnic::wire
