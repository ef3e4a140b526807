#include "copy/board.h"

#include <gtest/gtest.h>

#include <array>

namespace softrnic::copy {
namespace {

TEST(Board, StandsOnTheWireAsTheDocumentSays) {
  alignas(8) std::array<std::byte, Board::size(3)> place{};
  place[16] = std::byte{0x34};  // length first, little-endian
  place[17] = std::byte{0x12};
  place[20] = std::byte{5};  // the fifth frame
  place[24] = std::byte{7};
  place[32] = std::byte{9};
  EXPECT_EQ(place.size(), 40U);
  const Board board{place};
  EXPECT_EQ(board.read(Board::entry(2)), BoardEntry::of(4, 0x1234).word());
  EXPECT_EQ(board.read(Board::credit(3)), 7U);
  EXPECT_EQ(board.read(Board::naps(3)), 9U);
  EXPECT_EQ(board.read_now(Board::naps(3)), 9U);
}

TEST(BoardEntry, TellsFramesApartThatShareASlot) {
  const BoardEntry entry = BoardEntry::from(BoardEntry::of(35, 100).word());
  EXPECT_EQ(entry.length, 100U);
  EXPECT_TRUE(entry.tells_of(35));
  EXPECT_FALSE(entry.tells_of(3));
  EXPECT_FALSE(entry.tells_of(67));
  EXPECT_FALSE(BoardEntry::from(0).tells_of(0));  // an empty board
}

TEST(BoardEntry, CountsBeyond32Bits) {
  constexpr std::uint64_t kFar = (std::uint64_t{1} << 32) + 5;
  EXPECT_TRUE(BoardEntry::from(BoardEntry::of(kFar, 1).word()).tells_of(kFar));
  EXPECT_FALSE(BoardEntry::from(BoardEntry::of(kFar, 1).word()).tells_of(kFar + 1));
}

}  // namespace
}  // namespace softrnic::copy
