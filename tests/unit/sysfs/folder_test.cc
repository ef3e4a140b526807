// A tree as files: what is there is brought into line, by whoever looks.
#include "sysfs/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace softrnic::sysfs {
namespace {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/softrnic-sysfs-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    base_ = name;
    auto opened = open_folder(path());
    ASSERT_TRUE(opened);
    folder_ = std::move(*opened);
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  std::string path() const { return base_ + "/tree"; }
  std::string text(const std::string& name) const { return read_file(folder_.get(), name).value_or("none"); }

  std::string base_;
  UniqueFd folder_;
};

Tree tree(const char* state) {
  return {{"/dev/infiniband/uverbs1", NodeKind::link, "/dev/null"},
          {"/sys/class/a/counters/x", NodeKind::file, "1\n"},
          {"/sys/class/a/state", NodeKind::file, state}};
}

TEST_F(FolderTest, HasTheTree) {
  ASSERT_EQ(write_all(folder_.get(), tree("up\n")), 0);
  EXPECT_EQ(text("/sys/class/a/state"), "up\n");
  EXPECT_EQ(text("/sys/class/a/counters/x"), "1\n");
  struct stat status {};
  ASSERT_EQ(stat((path() + "/dev/infiniband/uverbs1").c_str(), &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  ASSERT_EQ(stat((path() + "/sys/class/a/state").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0444U);
}

TEST_F(FolderTest, OneFileIsBroughtIntoLineAndTheOthersStay) {
  ASSERT_EQ(write_all(folder_.get(), tree("up\n")), 0);
  Tree next = tree("down\n");
  next[1].text = "2\n";
  ASSERT_EQ(write_one(folder_.get(), next, "/sys/class/a/state"), 0);
  EXPECT_EQ(text("/sys/class/a/state"), "down\n");
  EXPECT_EQ(text("/sys/class/a/counters/x"), "1\n");
}

TEST_F(FolderTest, OtherNodesBringAllIntoLine) {
  ASSERT_EQ(write_all(folder_.get(), tree("up\n")), 0);
  Tree next = tree("up\n");
  next.erase(next.begin() + 1);
  next.push_back({"/sys/class/b", NodeKind::file, "new\n"});
  ASSERT_EQ(write_one(folder_.get(), next, "/sys/class/a"), 0);
  EXPECT_EQ(text("/sys/class/b"), "new\n");
  EXPECT_FALSE(std::filesystem::exists(path() + "/sys/class/a/counters"));
  EXPECT_TRUE(has_shape(folder_.get(), next));
}

TEST_F(FolderTest, WhatWasRemovedOrChangedByHandComesBack) {
  ASSERT_EQ(write_all(folder_.get(), tree("up\n")), 0);
  std::filesystem::remove(path() + "/sys/class/a/state");
  ASSERT_EQ(write_one(folder_.get(), tree("up\n"), "/sys/class/a/state"), 0);
  EXPECT_EQ(text("/sys/class/a/state"), "up\n");
  std::filesystem::remove_all(path() + "/sys");
  ASSERT_EQ(write_one(folder_.get(), tree("up\n"), "/sys/class/a/state"), 0);
  EXPECT_EQ(text("/sys/class/a/state"), "up\n");
}

TEST_F(FolderTest, WhoHasAFileOpenReadsOnWhatItWas) {
  ASSERT_EQ(write_all(folder_.get(), tree("up\n")), 0);
  const UniqueFd before(open((path() + "/sys/class/a/state").c_str(), O_RDONLY));
  ASSERT_EQ(write_all(folder_.get(), tree("down\n")), 0);
  char bytes[8] = {};
  ASSERT_EQ(read(before.get(), bytes, sizeof bytes), 3);
  EXPECT_STREQ(bytes, "up\n");
}

TEST_F(FolderTest, AFolderThatOthersCanWriteToIsRefused) {
  ASSERT_EQ(chmod(path().c_str(), 0777), 0);
  const auto opened = open_folder(path());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(), EPERM);
}

TEST_F(FolderTest, ALinkInItsPlaceIsRefused) {
  const std::string link = base_ + "/link";
  ASSERT_EQ(symlink(path().c_str(), link.c_str()), 0);
  EXPECT_FALSE(open_folder(link));
}

TEST_F(FolderTest, ALinkInTheTreeLeadsNobodyOut) {
  ASSERT_EQ(write_all(folder_.get(), tree("up\n")), 0);
  std::filesystem::create_directories(base_ + "/else");
  std::filesystem::remove_all(path() + "/sys/class/a/counters");
  std::filesystem::create_directory_symlink(base_ + "/else", path() + "/sys/class/a/counters");
  Tree next = tree("up\n");
  next.erase(next.begin() + 1);
  ASSERT_EQ(write_all(folder_.get(), next), 0);
  EXPECT_TRUE(std::filesystem::exists(base_ + "/else"));
  EXPECT_FALSE(std::filesystem::is_symlink(path() + "/sys/class/a/counters"));
}

}  // namespace
}  // namespace softrnic::sysfs
