#include "copy/tree.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace softrnic::copy {
namespace {

TEST(CleanPath, OnlyRelativePathsOfRealNames) {
  for (const char* good : {"", "a", "a/b", "...", "a b/\n", ".hidden/x"})
    EXPECT_TRUE(is_clean_path(good)) << good;
  for (const char* bad : {"/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/.", "../a"})
    EXPECT_FALSE(is_clean_path(bad)) << bad;
  EXPECT_FALSE(is_clean_path(std::string_view("a\0b", 3)));
  EXPECT_TRUE(is_clean_path(std::string(255, 'n')));
  EXPECT_FALSE(is_clean_path(std::string(256, 'n')));
}

TEST(CleanPath, WhatPeopleWrite) {
  std::string path;
  EXPECT_TRUE(clean_path("/a//b/./c/", path));
  EXPECT_EQ(path, "a/b/c");
  EXPECT_TRUE(clean_path(".", path));
  EXPECT_EQ(path, "");
  EXPECT_FALSE(clean_path("a/../b", path));
  EXPECT_FALSE(clean_path("..", path));
}

class TreeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(base_ + "/served/inner");
    std::ofstream(base_ + "/secret") << "secret";
    std::ofstream(base_ + "/served/inner/file") << "file";
    std::filesystem::create_symlink("../secret", base_ + "/served/out");
    std::filesystem::create_symlink(base_, base_ + "/served/absolute");
    std::filesystem::create_symlink("inner", base_ + "/served/alias");
    auto tree = Tree::open(base_ + "/served");
    ASSERT_TRUE(tree) << tree.error().text;
    tree_ = std::move(*tree);
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  std::string base_ = testing::TempDir() + "softrnic-tree-" + std::to_string(getpid());
  Tree tree_;
};

TEST_F(TreeTest, NothingLeadsOut) {
  EXPECT_TRUE(tree_.open_at("inner/file", O_RDONLY));
  EXPECT_TRUE(tree_.open_at("alias/file", O_RDONLY)) << "a link that stays inside";
  for (const char* path :
       {"out", "absolute", "absolute/secret", "../secret", "inner/../../secret", "/etc/passwd"}) {
    EXPECT_FALSE(tree_.open_at(path, O_RDONLY)) << path;
    EXPECT_EQ(errno, EXDEV) << path;
  }
}

TEST_F(TreeTest, ParentIsInsideToo) {
  std::string name;
  EXPECT_GE(tree_.parent_of("inner/new", name), 0);
  EXPECT_EQ(name, "new");
  EXPECT_GE(tree_.parent_of("top", name), 0);
  EXPECT_EQ(tree_.parent_of("absolute/new", name), -1);
  EXPECT_EQ(tree_.parent_of("gone/new", name), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(TreeTest, RemovalDoesNotFollowLinks) {
  std::filesystem::create_symlink(base_, base_ + "/served/inner/up");
  EXPECT_TRUE(remove_all(tree_.fd(), "absolute"));
  EXPECT_TRUE(remove_all(tree_.fd(), "inner"));
  EXPECT_FALSE(std::filesystem::exists(base_ + "/served/inner"));
  EXPECT_TRUE(std::filesystem::exists(base_ + "/secret"));
}

}  // namespace
}  // namespace softrnic::copy
