// A folder for one test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace softrnic::control {

class OwnFolderTest : public testing::Test {
 protected:
  OwnFolderTest() {
    char name[] = "/tmp/softrnic-test-XXXXXX";
    EXPECT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  ~OwnFolderTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

}  // namespace softrnic::control
