#include "wire/pcapng.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace softrnic::wire {
namespace {

std::uint32_t u32(const CaptureBuffer& out, std::size_t at) {
  std::uint32_t v = 0;
  EXPECT_LE(at + sizeof v, out.size());
  if (at + sizeof v <= out.size()) std::memcpy(&v, out.data() + at, sizeof v);
  return v;
}

struct BlockAt {
  std::uint32_t type;
  std::size_t at;
  std::size_t length;
};

// Walks the blocks as any reader does: by their lengths, which stand at both ends.
std::vector<BlockAt> blocks_of(const CaptureBuffer& out) {
  std::vector<BlockAt> blocks;
  for (std::size_t at = 0; at < out.size();) {
    const std::uint32_t length = u32(out, at + 4);
    if (length < 12 || length % 4 != 0 || at + length > out.size()) {
      ADD_FAILURE() << "block length " << length << " at " << at;
      break;
    }
    EXPECT_EQ(u32(out, at + length - 4), length);
    blocks.push_back({u32(out, at), at, length});
    at += length;
  }
  return blocks;
}

TEST(Pcapng, BlocksAreSelfConsistent) {
  CaptureBuffer out;
  append_section(out, "softrnic");
  append_interface(out, "soft0");
  const std::vector<std::byte> bytes(67, std::byte{0x42});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    for (const char* comment : {"", "a", "abcd", "dropped"}) {
      const Bytes pieces[] = {Bytes(bytes).first(size / 2), Bytes(bytes).first(size - size / 2)};
      append_packet(out, {0, size, CaptureDirection::inbound, comment}, pieces);
    }
  }
  const auto blocks = blocks_of(out);
  ASSERT_EQ(blocks.size(), 2 + 4 * bytes.size());
  EXPECT_EQ(blocks[0].type, 0x0a0d0d0aU);
  EXPECT_EQ(u32(out, 8), 0x1a2b3c4dU);
  EXPECT_EQ(blocks[1].type, 1U);
  for (std::size_t i = 2; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].type, 6U);
    EXPECT_EQ(u32(out, blocks[i].at + 20), (i - 2) / 4) << "captured length";
    EXPECT_EQ(u32(out, blocks[i].at + 24), (i - 2) / 4) << "original length";
  }
}

TEST(Pcapng, PacketCarriesTimeInterfaceAndBytes) {
  CaptureBuffer out;
  const std::byte bytes[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  const Bytes pieces[] = {Bytes(bytes).first(1), Bytes(), Bytes(bytes).subspan(1)};
  append_packet(out, {3, 0x0123456789abcdef, CaptureDirection::unknown, ""}, pieces);
  ASSERT_EQ(out.size(), 36U);  // no options
  EXPECT_EQ(u32(out, 8), 3U);
  EXPECT_EQ(u32(out, 12), 0x01234567U);
  EXPECT_EQ(u32(out, 16), 0x89abcdefU);
  EXPECT_EQ(u32(out, 28), 0x00030201U);
}

TEST(Pcapng, InterfacesHaveTheirLinkTypes) {
  const struct {
    LinkType type;
    std::uint32_t number;
  } cases[] = {{LinkType::ethernet, 1}, {LinkType::extensible_record, 197}};
  for (const auto& each : cases) {
    CaptureBuffer out;
    append_interface(out, "soft0", each.type);
    EXPECT_EQ(u32(out, 8), each.number);  // and two bytes of zeros
  }
  CaptureBuffer plain, ethernet;
  append_interface(plain, "soft0");
  append_interface(ethernet, "soft0", LinkType::ethernet);
  EXPECT_EQ(plain, ethernet);
}

TEST(Pcapng, LongCommentsAreCut) {
  CaptureBuffer out;
  append_packet(out, {0, 0, CaptureDirection::outbound, std::string(100000, 'x')}, {});
  ASSERT_EQ(blocks_of(out).size(), 1U);
}

}  // namespace
}  // namespace softrnic::wire
