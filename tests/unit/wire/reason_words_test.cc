// The words that reasons print for packets are those of the opcode table.
#include "base/reason_words.h"

#include <gtest/gtest.h>

#include "wire/gid.h"
#include "wire/opcode.h"
#include "wire/rdmap.h"
#include "wire/terminate.h"

namespace softrnic::wire {
namespace {

TEST(ReasonWords, NameEveryOpcodeAsTheTableDoes) {
  for (unsigned raw = 0; raw < 256; ++raw) {
    const OpcodeInfo* info = find_opcode(static_cast<std::uint8_t>(raw));
    if (info == nullptr) continue;
    EXPECT_EQ(figure_text("opcode", raw), info->name);
  }
  EXPECT_EQ(figure_text("opcode", 0xff), "0xff");
}

TEST(ReasonWords, NameEveryMessageOfIwarpAsTheTableDoes) {
  for (const RdmapOpcodeInfo& info : all_rdmap_opcodes())
    EXPECT_EQ(figure_text("rdmap", static_cast<std::uint64_t>(info.opcode)), info.name);
  for (const TerminateErrorInfo& info : all_terminate_errors())
    EXPECT_EQ(figure_text("terminate", static_cast<std::uint64_t>(info.error)), info.text);
}

TEST(ReasonWords, PrintGidsAsAddresses) {
  const Gid four = Gid::from_ipv4_be(0x0200000a);
  EXPECT_EQ(figure_text("gid", four.high_half(), four.low_half()), "10.0.0.2");
  Gid six;
  six.raw[0] = std::byte{0xfe};
  six.raw[1] = std::byte{0x80};
  six.raw[15] = std::byte{7};
  EXPECT_EQ(figure_text("gid", six.high_half(), six.low_half()), "fe80::7");
}

}  // namespace
}  // namespace softrnic::wire
