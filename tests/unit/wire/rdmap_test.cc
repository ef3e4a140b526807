#include "wire/rdmap.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "wire/ddp.h"

namespace softrnic::wire {
namespace {

TEST(RdmapOpcodes, AreThoseOfTheRegistry) {
  EXPECT_EQ(all_rdmap_opcodes().size(), 12U);
  EXPECT_EQ(find_rdmap_opcode(12), nullptr);
  EXPECT_EQ(find_rdmap_opcode(15), nullptr);
  std::set<std::string_view> names;
  for (const RdmapOpcodeInfo& info : all_rdmap_opcodes()) {
    EXPECT_EQ(find_rdmap_opcode(static_cast<std::uint8_t>(info.opcode)), &info);
    EXPECT_EQ(info.extension, static_cast<std::uint8_t>(info.opcode) > 7) << info.name;
    names.insert(info.name);
  }
  EXPECT_EQ(names.size(), 12U);
}

// RFC 5040 4.3, figure 4; RFC 7306 4.2, figure 2
TEST(RdmapOpcodes, HaveTheirQueues) {
  using enum RdmapOpcode;
  for (auto opcode : {write, read_response}) EXPECT_TRUE(rdmap_opcode_info(opcode).tagged);
  const std::pair<RdmapOpcode, unsigned> queues[] = {
      {send, 0},           {send_invalidate, 0}, {send_solicited, 0}, {send_solicited_invalidate, 0},
      {read_request, 1},   {terminate, 2},       {immediate, 0},      {immediate_solicited, 0},
      {atomic_request, 1}, {atomic_response, 3}};
  for (const auto& [opcode, queue] : queues) {
    EXPECT_FALSE(rdmap_opcode_info(opcode).tagged);
    EXPECT_EQ(static_cast<unsigned>(rdmap_opcode_info(opcode).queue), queue);
    EXPECT_EQ(ddp_header(opcode).queue, queue);
  }
}

template <std::size_t size, typename Parse>
void comes_back(Parse parse) {
  std::array<std::byte, size> bytes{}, again{};
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 17 + 3);
  encode(parse(bytes), again);
  EXPECT_EQ(again, bytes);
}

TEST(RdmapHeaders, ComeBackToTheByte) {
  comes_back<kReadRequestBytes>(parse_read_request);
  comes_back<kAtomicRequestBytes>(parse_atomic_request);
  comes_back<kAtomicResponseBytes>(parse_atomic_response);
  comes_back<kImmediateBytes>(parse_immediate);
}

TEST(RdmapHeaders, OfAnAtomicHaveTheirCodeInTheLowestBits) {
  std::array<std::byte, kAtomicRequestBytes> bytes{};
  AtomicRequest request;
  request.code = static_cast<std::uint8_t>(AtomicCode::compare_swap);
  encode(request, bytes);
  EXPECT_EQ(load_be32(bytes.data()), 2U);
}

TEST(Ddp, EveryControlFieldComesBack) {
  for (unsigned control = 0; control < 0x10000; control += 7) {
    std::array<std::byte, kMaxDdpBytes> bytes{}, again{};
    for (std::size_t i = 2; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31);
    store_be16(bytes.data(), static_cast<std::uint16_t>(control));
    const auto header = parse_ddp(bytes);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->tagged, (control & 0x8000) != 0);
    EXPECT_EQ(header->last, (control & 0x4000) != 0);
    EXPECT_EQ(header->ddp_version, (control >> 8) & 3);
    EXPECT_EQ(header->rdmap_version, (control >> 6) & 3);
    EXPECT_EQ(header->opcode, control & 15);
    const std::size_t size = encode(*header, again);
    EXPECT_EQ(size, header->tagged ? kDdpTaggedBytes : kDdpUntaggedBytes);
    EXPECT_TRUE(std::equal(again.begin(), again.begin() + static_cast<std::ptrdiff_t>(size), bytes.begin()));
  }
}

TEST(Ddp, ReadsNothingBeyondItsSegment) {
  for (bool tagged : {false, true}) {
    DdpHeader header;
    header.tagged = tagged;
    std::array<std::byte, kMaxDdpBytes> bytes{};
    const std::size_t size = encode(header, bytes);
    for (std::size_t n = 0; n < size; ++n) {
      const std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
      EXPECT_FALSE(parse_ddp(part)) << n;
    }
    EXPECT_TRUE(parse_ddp(Bytes(bytes).first(size)));
  }
}

// As Linux's siw sends a READ request: 2e (length), then 0x4141.
TEST(Ddp, OfAReadRequestIsSiws) {
  std::array<std::byte, kMaxDdpBytes> bytes{};
  DdpHeader header = ddp_header(RdmapOpcode::read_request);
  header.msn = 1;
  EXPECT_EQ(encode(header, bytes), 18U);
  EXPECT_EQ(load_be16(bytes.data()), 0x4141);
  EXPECT_EQ(load_be32(&bytes[6]), 1U);
  EXPECT_EQ(load_be32(&bytes[10]), 1U);
}

}  // namespace
}  // namespace softrnic::wire
