#include "copy/filter_list.h"

#include <gtest/gtest.h>

namespace softrnic::copy {
namespace {

struct Case {
  const char* pattern;
  const char* path;
  bool is_directory;
  bool excluded;
};

TEST(FilterList, Patterns) {
  for (const Case& c :
       {Case{"*.o", "a.o", false, true}, Case{"*.o", "deep/er/a.o", false, true},
        Case{"*.o", "a.o/b", false, false}, Case{"/a.o", "a.o", false, true},
        Case{"/a.o", "deep/a.o", false, false}, Case{"b/c", "a/b/c", false, true},
        Case{"b/c", "a/xb/c", false, false}, Case{"build/", "build", true, true},
        Case{"build/", "build", false, false}, Case{"a/*", "a/b/c", false, false},
        Case{"a/**", "a/b/c", false, true}, Case{"?", "ab", false, false}, Case{"[ab]", "b", false, true},
        Case{"[", "[", false, true}, Case{"", "a", false, false}}) {
    FilterList list;
    list.add({0, c.pattern});
    EXPECT_EQ(list.excludes(c.path, c.is_directory), c.excluded) << c.pattern << " on " << c.path;
  }
}

TEST(FilterList, TheFirstThatMatchesDecides) {
  FilterList list;
  list.add({1, "keep.o"});
  list.add({0, "*.o"});
  EXPECT_FALSE(list.excludes("x/keep.o", false));
  EXPECT_TRUE(list.excludes("x/other.o", false));
  EXPECT_FALSE(list.excludes("x/other.c", false));
}

}  // namespace
}  // namespace softrnic::copy
