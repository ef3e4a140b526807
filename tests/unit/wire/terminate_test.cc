#include "wire/terminate.h"

#include <gtest/gtest.h>

#include <vector>

namespace softrnic::wire {
namespace {

std::vector<std::byte> encoded(const Terminate& terminate) {
  std::vector<std::byte> out(kMaxTerminateBytes);
  out.resize(encode(terminate, out));
  return out;
}

/// The headers of a READ request with its body, or of a WRITE.
std::vector<std::byte> segment(RdmapOpcode opcode) {
  std::vector<std::byte> bytes(kMaxDdpBytes + kReadRequestBytes);
  DdpHeader header = ddp_header(opcode);
  header.msn = 5;
  header.stag = MemoryKey(0x77);
  const std::size_t size = encode(header, bytes);
  if (opcode != RdmapOpcode::read_request) {
    bytes.resize(size);
    return bytes;
  }
  ReadRequest request;
  request.size = 4711;
  encode(request, MutableBytes(bytes).subspan(size));
  return bytes;
}

TEST(Terminate, EveryErrorComesBackWithWhatItCarries) {
  for (const TerminateErrorInfo& info : all_terminate_errors())
    for (RdmapOpcode opcode : {RdmapOpcode::read_request, RdmapOpcode::write}) {
      const Terminate sent = terminate_about(info.error, segment(opcode), 1000);
      const Terminate got = parse_terminate(encoded(sent));
      EXPECT_EQ(got.error, static_cast<std::uint16_t>(info.error)) << info.text;
      EXPECT_EQ(got.segment_bytes.has_value(), info.headers != TerminateHeaders::none);
      EXPECT_EQ(got.ddp.has_value(), info.headers != TerminateHeaders::none);
      EXPECT_EQ(got.read.has_value(),
                info.headers == TerminateHeaders::ddp_rdmap && opcode == RdmapOpcode::read_request);
      EXPECT_EQ(got.segment_bytes.value_or(1000), 1000);
      EXPECT_TRUE(!got.read || got.read->size == 4711U);
      EXPECT_EQ(encoded(got), encoded(sent));
    }
}

TEST(Terminate, IsLaidOutAsTheRfcHasIt) {
  const auto bytes =
      encoded(terminate_about(TerminateError::ddp_no_buffer, segment(RdmapOpcode::send), 0x22));
  EXPECT_EQ(load_be32(bytes.data()), 0x1202c000U);
  EXPECT_EQ(load_be16(&bytes[4]), 0x22);
  EXPECT_EQ(bytes.size(), 6 + kDdpUntaggedBytes);
  EXPECT_EQ(load_be32(encoded(terminate_about(TerminateError::mpa_crc, {}, 0)).data()), 0x20020000U);
}

TEST(Terminate, CutAnywhereIsReadAsFarAsItGoes) {
  const auto whole =
      encoded(terminate_about(TerminateError::rdmap_stag, segment(RdmapOpcode::read_request), 46));
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    const Terminate got = parse_terminate(part);
    EXPECT_EQ(got.ddp.has_value(), n >= 6 + kDdpUntaggedBytes);
    EXPECT_EQ(got.read.has_value(), n == whole.size());
  }
}

// What siw's structure comes to on x86: type and layer in one another's place, flags in the low bits.
TEST(Terminate, OfSiwIsUnderstood) {
  const auto read = [](std::uint32_t control) {
    std::vector<std::byte> bytes(6 + kDdpUntaggedBytes);
    store_be32(bytes.data(), control);
    return parse_terminate(bytes);
  };
  EXPECT_EQ(read(0x21020300).error, static_cast<std::uint16_t>(TerminateError::ddp_no_buffer));
  EXPECT_TRUE(read(0x21020300).ddp.has_value());
  EXPECT_EQ(read(0x10000700).error, static_cast<std::uint16_t>(TerminateError::rdmap_stag));
  EXPECT_EQ(read(0x02020000).error, static_cast<std::uint16_t>(TerminateError::mpa_crc));
  EXPECT_EQ(read(0x02060000).error, static_cast<std::uint16_t>(TerminateError::mpa_insufficient_ird));
  EXPECT_EQ(read(0x10000000).error, static_cast<std::uint16_t>(TerminateError::ddp_catastrophic));
}

}  // namespace
}  // namespace softrnic::wire
