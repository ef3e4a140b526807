#include "base/printable.h"

#include <gtest/gtest.h>

namespace softrnic {
namespace {

TEST(Printable, WhatPeopleWriteStays) {
  for (const char* text :
       {"", "plain", "two words", "back\\slash", "ünïcödé", "日本語", "…", "😀", "\xf4\x8f\xbf\xbd"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("\x1b]0;title\x07"), "\\033]0;title\\007");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\012b\\011c\\015d");
  EXPECT_EQ(printable(std::string("a\0b\x7f", 4)), "a\\000b\\177");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\302\\23331m")
      << "CSI of C1, as UTF-8";
}

TEST(Printable, WhatIsNoUtf8IsEscaped) {
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\23331m")
      << "CSI of C1, as a byte";
  EXPECT_EQ(printable("\xff"), "\\377");
  EXPECT_EQ(printable("\xc0\xaf"), "\\300\\257") << "not the shortest form";
  EXPECT_EQ(printable("\xe0\x80\x9b"), "\\340\\200\\233") << "not the shortest form";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\355\\240\\200") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\364\\220\\200\\200") << "above U+10FFFF";
  EXPECT_EQ(printable("a\xe2\x80"), "a\\342\\200") << "cut short";
}

TEST(Printable, WhatHidesOrReordersIsEscaped) {
  EXPECT_EQ(printable("\u202e"
                      "gpj.exe"),
            "\\342\\200\\256gpj.exe");
  EXPECT_EQ(printable("\u2066x\u2069"), "\\342\\201\\246x\\342\\201\\251");
  EXPECT_EQ(printable("a\u200bb"), "a\\342\\200\\213b");
  EXPECT_EQ(printable("a\u2028b"), "a\\342\\200\\250b");
  EXPECT_EQ(printable("\ufeffa"), "\\357\\273\\277a");
}

TEST(Printable, TwiceIsOnce) {
  const std::string once = printable("\x1b[31m\xff\u202e\\");
  EXPECT_EQ(printable(once), once);
}

}  // namespace
}  // namespace softrnic
