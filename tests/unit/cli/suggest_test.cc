#include "cli/suggest.h"

#include <gtest/gtest.h>

namespace softrnic::cli {
namespace {

TEST(Suggest, NearestWord) {
  const std::vector<std::string> words = {"run", "dev", "link", "stat", "explain"};
  EXPECT_EQ(nearest("stta", words), "stat");
  EXPECT_EQ(nearest("lnk", words), "link");
  EXPECT_EQ(nearest("expalin", words), "explain");
  EXPECT_EQ(nearest("frobnicate", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace softrnic::cli
