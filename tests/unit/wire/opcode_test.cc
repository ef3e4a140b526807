#include "wire/opcode.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace softrnic::wire {
namespace {

TEST(OpcodeTable, IsAscendingWithUniqueNames) {
  std::set<std::string_view> names;
  int last = -1;
  for (const OpcodeInfo& info : all_opcodes()) {
    EXPECT_GT(static_cast<int>(info.opcode), last);
    last = static_cast<int>(info.opcode);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  }
  EXPECT_EQ(names.size(), 63U);
}

TEST(OpcodeTable, IsFoundByEveryRawByte) {
  std::size_t found = 0;
  for (int raw = 0; raw < 256; ++raw) {
    const OpcodeInfo* info = find_opcode(static_cast<std::uint8_t>(raw));
    if (info == nullptr) continue;
    ++found;
    EXPECT_EQ(static_cast<int>(info->opcode), raw);
    EXPECT_EQ(&opcode_info(info->opcode), info);
  }
  EXPECT_EQ(found, all_opcodes().size());
}

// Whatever stands for a row of packets is what its parts stand for together.
TEST(OpcodeTable, PartsJoinToTheWhole) {
  std::size_t several = 0;
  for (const OpcodeInfo& whole : all_opcodes()) {
    const bool message = whole.operation == Operation::send || whole.operation == Operation::write ||
                         whole.operation == Operation::read_response;
    if (!message || whole.service == Service::ud) continue;
    ++several;
    const OpcodeParts& parts = parts_of(whole.opcode);
    const OpcodeInfo& first = opcode_info(parts.first);
    const OpcodeInfo& middle = opcode_info(parts.middle);
    const OpcodeInfo& last = opcode_info(parts.last);
    EXPECT_EQ(first.position, whole.starts() ? Position::first : Position::middle) << whole.name;
    EXPECT_EQ(middle.position, Position::middle) << whole.name;
    EXPECT_EQ(last.position, whole.ends() ? Position::last : Position::middle) << whole.name;
    for (const OpcodeInfo* part : {&first, &middle, &last}) {
      EXPECT_EQ(part->service, whole.service);
      EXPECT_EQ(part->operation, whole.operation);
    }
    EXPECT_EQ(last.headers & (kImmDt | kIeth), whole.headers & (kImmDt | kIeth)) << whole.name;
    EXPECT_EQ(&joined(first, last), &whole) << whole.name;
  }
  EXPECT_EQ(several, 2 * (8U + 6 + 4) + 6 + 6);
}

TEST(OpcodeTable, UndefinedOpcodesAreHarmless) {
  EXPECT_EQ(find_opcode(0x15), nullptr);  // RESYNC belongs to reliable datagrams only
  EXPECT_EQ(find_opcode(0xff), nullptr);
  const OpcodeInfo& undefined = opcode_info(Opcode{0x15});
  EXPECT_EQ(undefined.headers, 0U);
  EXPECT_EQ(undefined.payload, PayloadRule::none);
}

// IBTA 9.2.1: the top three bits are the service.
TEST(OpcodeTable, ServiceIsTheTopThreeBits) {
  for (const OpcodeInfo& info : all_opcodes()) {
    EXPECT_EQ(static_cast<int>(info.service), static_cast<int>(info.opcode) & 0xe0) << info.name;
  }
}

// The name, the columns and the position say the same thing twice; they have to agree.
TEST(OpcodeTable, NamesAgreeWithTheColumns) {
  const auto says = [](const OpcodeInfo& info, const char* word) {
    return info.name.find(word) != std::string_view::npos;
  };
  for (const OpcodeInfo& info : all_opcodes()) {
    EXPECT_EQ(info.has(kImmDt), says(info, "Immediate")) << info.name;
    EXPECT_EQ(info.has(kIeth), says(info, "Invalidate")) << info.name;
    EXPECT_EQ(info.has(kDeth), says(info, "UD ")) << info.name;
    EXPECT_EQ(info.has(kAtomicEth), says(info, "Swap") || says(info, "Fetch")) << info.name;
    EXPECT_EQ(info.position == Position::first, says(info, "First")) << info.name;
    EXPECT_EQ(info.position == Position::middle, says(info, "Middle")) << info.name;
    EXPECT_EQ(info.position == Position::last, says(info, "Last")) << info.name;
    EXPECT_EQ(info.payload == PayloadRule::exactly_mtu, says(info, "First") || says(info, "Middle"))
        << info.name;
    EXPECT_EQ(info.payload == PayloadRule::one_to_mtu, says(info, "Last")) << info.name;
    EXPECT_EQ(info.request, !says(info, "Response") && !says(info, "Acknowledge") && !says(info, "CNP"))
        << info.name;
  }
}

// IBTA A14.3: XRC has the operations of RC; each request names an SRQ, no answer does.
TEST(OpcodeTable, XrcIsRcWithTheNumberOfAnSrq) {
  std::size_t found = 0;
  for (const OpcodeInfo& xrc : all_opcodes()) {
    EXPECT_EQ(xrc.has(kXrceth), xrc.service == Service::xrc && xrc.request) << xrc.name;
    if (xrc.service != Service::xrc) continue;
    ++found;
    const OpcodeInfo& rc = opcode_info(static_cast<Opcode>(static_cast<std::uint8_t>(xrc.opcode) - 0xa0));
    EXPECT_EQ(xrc.name, "X" + std::string(rc.name));
    EXPECT_EQ(xrc.operation, rc.operation) << xrc.name;
    EXPECT_EQ(xrc.position, rc.position) << xrc.name;
    EXPECT_EQ(xrc.payload, rc.payload) << xrc.name;
    EXPECT_EQ(xrc.request, rc.request) << xrc.name;
    EXPECT_EQ(xrc.headers & ~kXrceth, rc.headers) << xrc.name;
  }
  EXPECT_EQ(found, 23U);
}

// IBTA 9.4.3: the address stands in the packet that begins a WRITE, and in a READ request.
TEST(OpcodeTable, RethBeginsWritesAndReads) {
  for (const OpcodeInfo& info : all_opcodes()) {
    const bool addressed = (info.operation == Operation::write && info.starts()) ||
                           info.operation == Operation::read_request || info.operation == Operation::flush ||
                           info.operation == Operation::atomic_write;
    EXPECT_EQ(info.has(kReth), addressed) << info.name;
  }
}

TEST(OpcodeTable, HeaderBytesAddUp) {
  EXPECT_EQ(header_bytes(0), 0U);
  EXPECT_EQ(header_bytes(kDeth), 8U);
  EXPECT_EQ(header_bytes(kXrceth), 4U);
  EXPECT_EQ(header_bytes(kFeth), 4U);
  EXPECT_EQ(header_bytes(kReth), 16U);
  EXPECT_EQ(header_bytes(kAtomicEth), 28U);
  EXPECT_EQ(header_bytes(kAeth), 4U);
  EXPECT_EQ(header_bytes(kAtomicAckEth), 8U);
  EXPECT_EQ(header_bytes(kImmDt), 4U);
  EXPECT_EQ(header_bytes(kIeth), 4U);
  EXPECT_EQ(header_bytes(kReth | kImmDt), 20U);
  EXPECT_EQ(header_bytes(0x1ff), 80U);
}

}  // namespace
}  // namespace softrnic::wire
