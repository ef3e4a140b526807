// In a folder that stands for a system, with libraries of its own beside the drop-in ones.
#include "cli/system_libraries.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace softrnic::cli {
namespace {

namespace fs = std::filesystem;

/// A library that ldconfig takes for one: the one of verbs that this program is linked with.
fs::path any_library() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&ibv_get_device_list), &info);
  return fs::canonical(info.dli_fname);
}

class SystemLibraries : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/softrnic-system-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    place.root = name;
    place.owner = geteuid();
    fs::permissions(place.root, fs::perms(0755));
    write("etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
    write("etc/ld.so.conf.d/amd64.conf", "# of the distribution\n/usr/lib/other\n");
    for (const char* folder : {"usr/lib/softrnic", "usr/lib/other"}) {
      fs::create_directories(place.root / folder);
      fs::permissions(place.root / folder, fs::perms(0755));
      fs::copy_file(any_library(), place.root / folder / "libibverbs.so.1");
      fs::permissions(place.root / folder / "libibverbs.so.1", fs::perms(0644));
    }
    for (const char* folder : {"usr", "usr/lib"}) fs::permissions(place.root / folder, fs::perms(0755));
    const std::string command = "/sbin/ldconfig -r " + place.root.string();
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  void TearDown() override { fs::remove_all(place.root); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((place.root / path).parent_path());
    std::ofstream(place.root / path) << text;
  }
  LoadedLibrary verbs() const {
    const auto libraries = loaded_libraries(place);
    EXPECT_TRUE(libraries) << libraries.error();
    return libraries && libraries->size() == 1 ? libraries->front() : LoadedLibrary{};
  }

  LoaderPlace place{.libraries = "/usr/lib/softrnic"};
};

TEST_F(SystemLibraries, OffUntilEnabledAndOffAgain) {
  EXPECT_EQ(verbs().path, "/usr/lib/other/libibverbs.so.1");
  EXPECT_EQ(verbs().decider, "/etc/ld.so.conf.d/amd64.conf");
  EXPECT_FALSE(verbs().ours);

  const auto enabled = enable_for_all(place);
  ASSERT_TRUE(enabled) << enabled.error();
  EXPECT_EQ(verbs().path, "/usr/lib/softrnic/libibverbs.so.1");
  EXPECT_EQ(place.root / fs::path(verbs().decider).relative_path(), loader_file(place));
  EXPECT_TRUE(verbs().ours);
  EXPECT_TRUE(enable_for_all(place)) << "twice is no failure";

  ASSERT_TRUE(disable_for_all(place));
  EXPECT_FALSE(fs::exists(loader_file(place)));
  EXPECT_FALSE(verbs().ours);
  EXPECT_TRUE(disable_for_all(place)) << "twice is no failure";
}

TEST_F(SystemLibraries, WhatComesFirstElsewhereIsToldAndNothingIsLeft) {
  write("etc/ld.so.conf", "/usr/lib/other\ninclude /etc/ld.so.conf.d/*.conf\n");
  const auto enabled = enable_for_all(place);
  ASSERT_FALSE(enabled);
  EXPECT_NE(enabled.error().find("/usr/lib/other/libibverbs.so.1"), std::string::npos) << enabled.error();
  EXPECT_FALSE(fs::exists(loader_file(place)));
}

TEST_F(SystemLibraries, FoldersThatOthersCanChangeAreRefused) {
  for (const char* path : {"usr", "usr/lib/softrnic", "usr/lib/softrnic/libibverbs.so.1"}) {
    const auto before = fs::status(place.root / path).permissions();
    fs::permissions(place.root / path, before | fs::perms::others_write);
    const auto enabled = enable_for_all(place);
    ASSERT_FALSE(enabled) << path;
    EXPECT_NE(enabled.error().find(path), std::string::npos) << enabled.error();
    EXPECT_FALSE(fs::exists(loader_file(place)));
    fs::permissions(place.root / path, before);
  }
  ++place.owner;
  EXPECT_FALSE(enable_for_all(place)) << "of another owner";
}

TEST_F(SystemLibraries, FoldersThatNotAllCanReadAreRefused) {
  fs::permissions(place.root / "usr", fs::perms(0750));
  EXPECT_FALSE(enable_for_all(place));
}

TEST_F(SystemLibraries, ALibraryThatTheSystemLacksIsToldAsNone) {
  fs::remove_all(place.root / "usr/lib/other");
  ASSERT_TRUE(disable_for_all(place));
  const std::string command = "/sbin/ldconfig -r " + place.root.string() + " 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(verbs().name, "libibverbs.so.1");
  EXPECT_EQ(verbs().path, "");
}

}  // namespace
}  // namespace softrnic::cli
