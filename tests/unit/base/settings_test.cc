#include "base/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace softrnic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Settings, ReadsTheTable) {
  const char* environment[] = {
      "HOME=/root",         "SOFTRNIC_EXPLAIN=1",      "SOFTRNIC_LANES=4",  "SOFTRNIC_PATH=wire",
      "SOFTRNIC_SHARE=all", "SOFTRNIC_FAULTS=drop=1%", "SOFTRNIC_CAPTURE=", nullptr};
  std::vector<std::string> warnings;
  const Settings read = parse_settings(environment, warnings);
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_TRUE(read.explain);
  EXPECT_EQ(read.lanes, 4U);
  EXPECT_TRUE(read.wire_only);
  EXPECT_EQ(read.share, ShareFiles::all);
  EXPECT_EQ(read.faults, "drop=1%");
  EXPECT_EQ(read.capture, "");
}

TEST(Settings, WarnsAboutUnknownNamesAndBadValues) {
  const char* environment[] = {"SOFTRNIC_EXPLIAN=1", "SOFTRNIC_LANES=99", "SOFTRNIC_EXPLAIN=maybe",
                               "SOFTRNIC_COLOUR_OF_THE_CABLE=blue", nullptr};
  std::vector<std::string> warnings;
  const Settings read = parse_settings(environment, warnings);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("did you mean SOFTRNIC_EXPLAIN"), HasSubstr("1 to 16"),
                                    HasSubstr("SOFTRNIC_EXPLAIN=maybe"),
                                    HasSubstr("COLOUR_OF_THE_CABLE is ignored; there are SOFTRNIC_EXPLAIN")));
  EXPECT_EQ(read.lanes, 1U);
  EXPECT_FALSE(read.explain);
}

TEST(Settings, LanguagesAreWrittenAsLocalesAre) {
  struct {
    const char* entry;
    Language expected;
    bool warned;
  } const cases[] = {
      {"SOFTRNIC_LANG=zh", Language::chinese, false},
      {"SOFTRNIC_LANG=zh_CN", Language::chinese, false},
      {"SOFTRNIC_LANG=zh_CN.UTF-8", Language::chinese, false},
      {"SOFTRNIC_LANG=en", Language::english, false},
      {"SOFTRNIC_LANG=", Language::english, false},
      {"SOFTRNIC_LANG=zh_CN.GB18030", Language::english, true},
      {"SOFTRNIC_LANG=klingon", Language::english, true},
  };
  for (const auto& one : cases) {
    const char* environment[] = {one.entry, nullptr};
    std::vector<std::string> warnings;
    EXPECT_EQ(parse_settings(environment, warnings).language, one.expected) << one.entry;
    EXPECT_EQ(warnings.size(), one.warned ? 1U : 0U) << one.entry;
  }
}

TEST(Settings, EveryRowHasHelp) {
  for (const SettingInfo& row : setting_table()) {
    EXPECT_TRUE(row.name.starts_with("SOFTRNIC_"));
    EXPECT_FALSE(row.help.empty());
  }
}

}  // namespace
}  // namespace softrnic
