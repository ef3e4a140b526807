// A malicious server gets nothing written that the client did not ask for (the class of CVE-2019-6111).
#include "tests/copy/hostile_peer.h"

namespace softrnic::copy {
namespace {

// ---- names that the request cannot mean

TEST_F(HostilePeerTest, WhatWasAskedForComes) {
  const auto done = ask(download({"report.txt"}), Speech().file("report.txt", "figures").end());
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(content(home() / "report.txt"), "figures");
  EXPECT_EQ(content(home() / ".bashrc"), "mine");
}

TEST_F(HostilePeerTest, AnotherFileInItsPlace) {
  expect_refused(download({"report.txt"}), Speech().file(".bashrc", "evil").end(), ".bashrc");
}

TEST_F(HostilePeerTest, AnotherFileAfterIt) {
  const auto done =
      ask(download({"a/report.txt"}), Speech().file("report.txt", "figures").file("zzz", "evil").end());
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr("zzz"));
  EXPECT_FALSE(fs::exists(home() / "zzz"));
}

TEST_F(HostilePeerTest, AFileInADirectoryThatNobodyAnnounced) {
  fs::create_directories(home() / ".ssh");
  expect_refused(download({"report.txt"}), Speech().file(".ssh/authorized_keys", "evil").end(),
                 "authorized_keys");
  expect_refused(download({"report.txt"}, kRecursive), Speech().file("report.txt/x", "evil").end(),
                 "report.txt/x");
}

TEST_F(HostilePeerTest, AnotherDirectoryBesideIt) {
  expect_refused(download({"tree"}, kRecursive), Speech().directory(".ssh", 0700).end(), ".ssh");
}

TEST_F(HostilePeerTest, ADirectoryWithoutRecursion) {
  expect_refused(download({"report.txt"}), Speech().directory("report.txt").end(), "-r");
}

TEST_F(HostilePeerTest, ALinkWithoutArchive) {
  expect_refused(download({"bin"}, kRecursive), Speech().symlink("bin", "outside").end(), "-a");
}

TEST_F(HostilePeerTest, NamesThatAreNoNames) {
  fs::create_directories(home() / "tree");
  for (const std::string name :
       {"../x", "/tmp/softrnic-absolute", "tree//x", "tree/./x", "tree/../../x", "tree/", ".", "..", ""}) {
    expect_refused(download({"tree"}, kRecursive), Speech().directory("tree").file(name, "evil").end(),
                   "the peer sent '" + name + "'");
  }
  expect_refused(download({"tree"}), Speech().file(std::string("tree\0x", 6), "evil").end(), "no path");
}

TEST_F(HostilePeerTest, TwoFilesForAPipe) {
  CopyOptions wanted = download({"report.txt"}, kStream);
  wanted.destination = "-";
  expect_refused(wanted, Speech().file("report.txt", "").file("report.txt", "").end(), "report.txt");
}

TEST_F(HostilePeerTest, WhatIsExcluded) {
  CopyOptions wanted = download({"tree"}, kRecursive);
  wanted.filters.add({0, "*.so"});
  const auto done = ask(wanted, Speech().directory("tree").file("tree/evil.so", "evil").end());
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr("tree/evil.so"));
  EXPECT_FALSE(fs::exists(home() / "tree/evil.so"));
}

// ---- one name, two things

TEST_F(HostilePeerTest, ANameTwice) {
  const auto done = ask(download({"tree"}, kRecursive),
                        Speech().directory("tree").file("tree/x", "one").file("tree/x", "two").end());
  ASSERT_FALSE(done);
  EXPECT_EQ(content(home() / "tree/x"), "one");
}

TEST_F(HostilePeerTest, ADirectoryThatBecomesALink) {
  const std::uint32_t flags = kRecursive | kPreserve;
  auto done = ask(download({"tree"}, flags),
                  Speech().directory("tree").symlink("tree/d", ".").directory("tree/d").end());
  EXPECT_FALSE(done);
  // two sources of one name: each may come, but nothing goes through the link of the first
  CopyOptions wanted = download({"a/", "b/"}, flags | kIntoDirectory);
  done =
      ask(wanted,
          Speech().directory("").symlink("x", "tree").directory("").directory("x").file("x/f", "evil").end());
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->failures, 2U);
  EXPECT_FALSE(fs::exists(home() / "tree/f"));
}

TEST_F(HostilePeerTest, NothingGoesThroughALinkThatWasThere) {
  fs::create_directories(home() / "real");
  fs::create_symlink("real", home() / "tree");
  const auto done =
      ask(download({"tree"}, kRecursive), Speech().directory("tree").file("tree/f", "evil").end());
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->failures, 2U);
  EXPECT_TRUE(fs::is_empty(home() / "real"));
}

TEST_F(HostilePeerTest, GoingOnWithAFileThatNobodyResumes) {
  expect_refused(download({".bashrc"}), Speech().file(".bashrc", "", kContinued).end(), "resume");
}

TEST_F(HostilePeerTest, AFileThatWasNotOffered) {
  expect_refused(download({"tree"}, kRecursive | kUpdate), Speech().file("tree", "evil").end(), "tree");
  expect_refused(download({"report.txt"}, kUpdate), Speech().offer(".bashrc").end(), ".bashrc");
}

TEST_F(HostilePeerTest, AnOfferThatWasDeclined) {
  write(home() / "report.txt", "mine");
  expect_refused(download({"report.txt"}, kUpdate),
                 Speech().offer("report.txt").file("report.txt", "evil").end(), "report.txt");
}

// ---- --delete

TEST_F(HostilePeerTest, DeletesOnlyInDirectoriesThatItSends) {
  expect_refused(download({"report.txt"}, kDelete), Speech().listing("", "").end(), "listing");
  expect_refused(download({"tree"}, kDelete | kRecursive), Speech().listing("", "").end(), "listing");
  fs::create_directories(home() / "kept");
  write(home() / "kept/file", "mine");
  const auto done =
      ask(download({"tree"}, kDelete | kRecursive), Speech().directory("tree").listing("kept", "").end());
  EXPECT_FALSE(done);
  EXPECT_TRUE(fs::exists(home() / "kept/file"));
}

// ---- links

TEST_F(HostilePeerTest, LinksThatLeadOutOfTheDestination) {
  const std::uint32_t flags = kRecursive | kPreserve;
  const auto speech = [] {
    return Speech()
        .directory("tree")
        .symlink("tree/absolute", "/etc/passwd")
        .directory("tree/d")
        .symlink("tree/d/fine", "../../other")
        .symlink("tree/d/hidden", "fine/../../../outside")
        .symlink("tree/d/up", "../../../outside")
        .end();
  };
  auto done = ask(download({"tree"}, flags), speech());
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->failures, 3U);
  EXPECT_TRUE(fs::is_symlink(home() / "tree/d/fine"));
  for (const char* name : {"tree/absolute", "tree/d/hidden", "tree/d/up"})
    EXPECT_FALSE(fs::is_symlink(home() / name)) << name;
  CopyOptions wanted = download({"tree"}, flags);
  wanted.outside_links = true;
  done = ask(wanted, speech());
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->failures, 0U);
  for (const char* name : {"tree/absolute", "tree/d/hidden", "tree/d/up"})
    EXPECT_TRUE(fs::is_symlink(home() / name)) << name;
}

TEST_F(HostilePeerTest, LinksOutOfANewNameCountFromIt) {
  CopyOptions wanted = download({"tree"}, kRecursive | kPreserve);
  wanted.destination = home() / "new";
  const auto done =
      ask(wanted, Speech().directory("tree").symlink("tree/l", "../.bashrc").symlink("tree/m", "l").end());
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->failures, 1U);
  EXPECT_FALSE(fs::is_symlink(home() / "new/l"));
  EXPECT_TRUE(fs::is_symlink(home() / "new/m"));
}

// ---- modes

TEST_F(HostilePeerTest, SetIdBitsOnlyWithArchive) {
  umask(022);
  auto done = ask(download({"tree"}, kRecursive),
                  Speech().directory("tree", 07777).file("tree/x", "x", 0, 06755).end());
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(static_cast<unsigned>(fs::status(home() / "tree/x").permissions()), 0755U);
  EXPECT_EQ(static_cast<unsigned>(fs::status(home() / "tree").permissions()), 0755U);
}

}  // namespace
}  // namespace softrnic::copy
