#include "copy/archive.h"

#include <gtest/gtest.h>

#include <vector>

#include "copy/greeting.h"
#include "copy/records.h"

namespace softrnic::copy {
namespace {

TEST(Archive, LittleEndianOnTheWire) {
  std::array<std::byte, 64> out{};
  Answer answer;
  answer.number = 0x0102030405060708;
  answer.verdict = 2;
  answer.have = 0x11;
  EXPECT_EQ(encode(answer, out), 17U);
  EXPECT_EQ(out[0], std::byte{8});
  EXPECT_EQ(out[7], std::byte{1});
  EXPECT_EQ(out[8], std::byte{2});
  EXPECT_EQ(out[9], std::byte{0x11});
}

/// Every proper prefix of what was written is refused; the whole gives back what went in.
template <typename Structure>
void expect_bounds(const Structure& in) {
  std::vector<std::byte> out(size_of(in));
  ASSERT_EQ(encode(in, out), out.size());
  for (std::size_t size = 0; size < out.size(); ++size) {
    Structure back;
    EXPECT_FALSE(decode(back, Bytes(out).first(size))) << size;
    std::vector<std::byte> small(size);
    EXPECT_EQ(encode(in, small), 0U);
  }
  Structure back;
  ASSERT_TRUE(decode(back, out));
  std::vector<std::byte> again(size_of(back));
  encode(back, again);
  EXPECT_EQ(again, out);
}

TEST(Archive, EveryStructureChecksItsBounds) {
  expect_bounds(Hello{});
  expect_bounds(Challenge{});
  expect_bounds(Proof{});
  expect_bounds(Welcome{});
  expect_bounds(Credit{7});
  Refusal refusal;
  refusal.text = "no";
  expect_bounds(refusal);
  Job job;
  job.destination = "a/b";
  expect_bounds(job);
  Symlink symlink;
  symlink.path = "from";
  symlink.target = "to";
  expect_bounds(symlink);
  File file;
  file.path = "name";
  expect_bounds(file);
  expect_bounds(Chunk{});
  expect_bounds(FileEnd{});
  Failed failed;
  failed.path = std::string("odd\nname");
  failed.text = "why";
  expect_bounds(failed);
  expect_bounds(Finished{});
}

TEST(Archive, TextLongerThanItsLengthFieldIsNotWritten) {
  Refusal refusal;
  refusal.text = std::string(kMaxText + 1, 'x');
  std::vector<std::byte> out(kMaxText + 10);
  EXPECT_EQ(encode(refusal, out), 0U);
}

TEST(Records, WalkAFrame) {
  std::array<std::byte, 64> frame{};
  std::size_t at = encode(RecordHeader{static_cast<std::uint16_t>(RecordType::done), 0, 8}, frame);
  at += encode(Done{5}, MutableBytes(frame).subspan(at));
  at += encode(RecordHeader{static_cast<std::uint16_t>(RecordType::end), 0, 0},
               MutableBytes(frame).subspan(at));
  Records records(Bytes(frame).first(at));
  RecordView record;
  ASSERT_TRUE(records.next(record));
  EXPECT_EQ(record.type, RecordType::done);
  EXPECT_EQ(record.body.size(), 8U);
  ASSERT_TRUE(records.next(record));
  EXPECT_EQ(record.type, RecordType::end);
  EXPECT_FALSE(records.next(record));
  EXPECT_TRUE(records.ok());
}

TEST(Records, ThatLeaveTheFrameAreRefused) {
  std::array<std::byte, 16> frame{};
  encode(RecordHeader{1, 0, 9}, frame);
  Records records(frame);
  RecordView record;
  EXPECT_FALSE(records.next(record));
  EXPECT_FALSE(records.ok());
  Records torn(Bytes(frame).first(7));
  EXPECT_FALSE(torn.next(record));
  EXPECT_FALSE(torn.ok());
}

TEST(Records, DataOfAFramesFirstChunkIsAlignedToACacheLine) {
  EXPECT_EQ(kRecordHeader + size_of(Chunk{}), kChunkHead);
  EXPECT_EQ(kRecordHeader, size_of(RecordHeader{}));
}

TEST(Greeting, MessagesFitTheirBuffers) {
  EXPECT_LT(1 + size_of(Proof{}), kMaxMessage);
  EXPECT_LT(1 + size_of(Welcome{}), kMaxMessage);
  Hello hello;
  EXPECT_TRUE(read_message(hello, make_message(Hello{}).view()));
  Challenge challenge;
  EXPECT_FALSE(read_message(challenge, make_message(Hello{}).view())) << "another type";
  EXPECT_FALSE(read_message(hello, Bytes())) << "nothing at all";
}

}  // namespace
}  // namespace softrnic::copy
