#include "copy/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "copy/tree.h"

namespace softrnic::copy {
namespace {

Bytes bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    directory_ = UniqueFd(open(folder_.c_str(), O_PATH | O_DIRECTORY));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string content(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  bool exists(const std::string& name) { return std::filesystem::exists(folder_ + "/" + name); }
  static FileInfo info(std::uint64_t size, std::uint32_t flags = 0) {
    FileInfo out;
    out.metadata.mode = 0640;
    out.metadata.mtime = 1000;
    out.size = size;
    out.flags = flags;
    return out;
  }
  static int put(Output& output, std::uint64_t offset, std::string_view text) {
    return output.write(offset, bytes(text), hash_of(bytes(text)));
  }

  std::string folder_ = testing::TempDir() + "softrnic-output-" + std::to_string(getpid());
  UniqueFd directory_;
};

TEST_F(OutputTest, TheNameComesWithTheWholeFile) {
  std::ofstream(folder_ + "/file") << "old";
  FileOutput output(directory_.get(), "file", info(7), {});
  ASSERT_EQ(output.open(), 0);
  ASSERT_EQ(put(output, 0, "new one"), 0);
  EXPECT_EQ(content("file"), "old");
  ASSERT_EQ(output.finish(7), 0);
  EXPECT_EQ(content("file"), "new one");
  EXPECT_FALSE(exists(part_name("file")));
}

TEST_F(OutputTest, WhatIsNotFinishedLeavesNothing) {
  {
    FileOutput output(directory_.get(), "file", info(3), {});
    ASSERT_EQ(output.open(), 0);
    ASSERT_EQ(put(output, 0, "abc"), 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(OutputTest, WithResumeAPartStaysAndGoesOn) {
  const std::string half(Journal::kStep, 'h');
  const FileInfo file = info(half.size() + 4);
  {
    FileOutput output(directory_.get(), "file", file, {.keep_part = true});
    ASSERT_EQ(output.open(), 0);
    ASSERT_EQ(put(output, 0, half), 0);
  }
  EXPECT_EQ(bytes_left_there(directory_.get(), "file", file), half.size());
  FileInfo other = file;
  other.metadata.mtime = 2000;
  EXPECT_EQ(bytes_left_there(directory_.get(), "file", other), 0U) << "of another source";
  FileInfo continued = file;
  continued.flags = kContinued;
  FileOutput output(directory_.get(), "file", continued, {.keep_part = true, .verify = true});
  ASSERT_EQ(output.open(), 0);
  const auto size = static_cast<std::uint32_t>(1 << 20);
  for (std::uint64_t at = 0; at < half.size(); at += size)
    EXPECT_TRUE(output.has(at, size, hash_of(bytes(half).first(size))));
  EXPECT_FALSE(output.has(0, size, hash_of(bytes("another"))));
  ASSERT_EQ(put(output, half.size(), "tail"), 0);
  ASSERT_EQ(output.finish(half.size() + 4), 0);
  EXPECT_EQ(content("file"), half + "tail");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(OutputTest, ATornJournalCountsAsNone) {
  Journal journal;
  const FileInfo file = info(100);
  ASSERT_TRUE(journal.open(directory_.get(), "file", {100, 1000, 0, 50}));
  std::ofstream(folder_ + "/" + part_name("file")) << "x";
  EXPECT_EQ(bytes_left_there(directory_.get(), "file", file), 50U);
  std::fstream text(folder_ + "/" + journal_name("file"), std::ios::in | std::ios::out | std::ios::binary);
  text.seekp(20);
  text.put(99);
  text.close();
  EXPECT_EQ(bytes_left_there(directory_.get(), "file", file), 0U);
}

TEST_F(OutputTest, TwoCopiesOfOneFileDoNotMix) {
  FileOutput first(directory_.get(), "file", info(3), {});
  FileOutput second(directory_.get(), "file", info(3), {});
  ASSERT_EQ(first.open(), 0);
  EXPECT_EQ(second.open(), EBUSY);
  ASSERT_EQ(put(first, 0, "abc"), 0);
  EXPECT_EQ(first.finish(3), 0);
  EXPECT_EQ(content("file"), "abc");
}

TEST_F(OutputTest, LeftoversGoUnlessSomebodyWritesThem) {
  {
    FileOutput output(directory_.get(), "file", info(3), {});
    ASSERT_EQ(output.open(), 0);
    remove_leftovers(directory_.get(), "file");
    EXPECT_TRUE(exists(part_name("file"))) << "another copy goes on";
  }
  std::ofstream(folder_ + "/" + part_name("file")) << "of a run that was killed";
  std::ofstream(folder_ + "/" + journal_name("file")) << "too";
  remove_leftovers(directory_.get(), "file");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(OutputTest, VerifyReadsBack) {
  FileOutput output(directory_.get(), "file", info(6), {.verify = true});
  ASSERT_EQ(output.open(), 0);
  ASSERT_EQ(put(output, 0, "abc"), 0);
  ASSERT_EQ(put(output, 3, "def"), 0);
  std::fstream part(folder_ + "/" + part_name("file"), std::ios::in | std::ios::out | std::ios::binary);
  part.put('X');
  part.close();
  EXPECT_EQ(output.finish(6), EBADMSG);
}

TEST_F(OutputTest, HolesStayHolesAndTheSizeIsRight) {
  FileOutput output(directory_.get(), "file", info(1 << 30, kSparse), {});
  ASSERT_EQ(output.open(), 0);
  ASSERT_EQ(put(output, 1 << 20, "data"), 0);
  ASSERT_EQ(output.finish(1 << 30), 0);
  struct stat there {};
  ASSERT_EQ(fstatat(directory_.get(), "file", &there, 0), 0);
  EXPECT_EQ(there.st_size, 1 << 30);
  EXPECT_LT(there.st_blocks, 100);
}

TEST_F(OutputTest, APipeGetsZerosForHoles) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd from(ends[0]), to(ends[1]);
  PipeOutput output(to.get());
  ASSERT_EQ(put(output, 2, "ab"), 0);
  ASSERT_EQ(output.finish(5), 0);
  char got[8];
  ASSERT_EQ(read(from.get(), got, sizeof got), 5);
  EXPECT_EQ(std::string(got, 5), std::string("\0\0ab\0", 5));
}

TEST(Fingerprint, KnowsOrderPlaceAndNumber) {
  const Hash hash = hash_of(bytes("chunk"));
  const auto of = [&](std::initializer_list<std::uint64_t> offsets) {
    Fingerprint out;
    for (const std::uint64_t offset : offsets) out.add(offset, 5, hash);
    return out.value();
  };
  EXPECT_EQ(of({0, 5}), of({0, 5}));
  EXPECT_NE(of({0, 5}), of({5, 0}));
  EXPECT_NE(of({0, 5}), of({0, 6}));
  EXPECT_NE(of({0, 5}), of({0, 5, 5}));
  EXPECT_NE(of({0}), of({0, 5}));
}

}  // namespace
}  // namespace softrnic::copy
