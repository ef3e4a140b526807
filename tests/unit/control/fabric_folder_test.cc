#include "control/fabric_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "tests/unit/control/own_folder.h"

namespace softrnic::control {
namespace {

std::string file_of(const std::string& host) {
  const std::string path = host_socket("/run", {"fabric", host});
  EXPECT_TRUE(path.starts_with("/run/fabric/"));
  return path.substr(12);
}

TEST(HostSocket, IsNamedAsTheHostWhereThatIsAPlainName) {
  EXPECT_EQ(file_of("host1"), "host1");
  EXPECT_EQ(file_of("node-7_a.b"), "node-7_a.b");
  EXPECT_EQ(file_of("host1 HCA-1"), "host1%20HCA-1");
}

TEST(HostSocket, LeadsToNoOtherFolderAndIsNotThatOfTheCommands) {
  for (const char* name : {"../../../etc/passwd", "..", ".", ".commands", "a/b", "/", "%2E", "\xff\xfe"}) {
    const std::string file = file_of(name);
    EXPECT_EQ(file.find('/'), std::string::npos) << name;
    EXPECT_NE(file.front(), '.') << name;
  }
}

TEST(HostSocket, NoTwoHostsHaveTheSame) {
  const std::string long_name(60, ' ');
  const std::set<std::string> files = {
      file_of("a b"),           file_of("a%20b"),         file_of("a_b"),           file_of("a/b"),
      file_of(long_name + "x"), file_of(long_name + "y"), file_of("." + long_name), file_of(long_name)};
  EXPECT_EQ(files.size(), 8U);
  for (const std::string& file : files) EXPECT_LE(file.size(), 64U);
}

TEST(HostName, IsOfTheOnlyFabricOrOfANamedOne) {
  const auto alone = parse_host_name("host1 HCA-1");
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->fabric, kDefaultFabric);
  EXPECT_EQ(alone->host, "host1 HCA-1");
  const auto named = parse_host_name("torus/a/b");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->fabric, "torus");
  EXPECT_EQ(named->host, "a/b");
  for (const std::string wrong : {"", "/", "torus/", "../host1", "a\nb", ".x/host1"}) {
    const auto refused = parse_host_name(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().error, EINVAL);
  }
}

class FabricFolderTest : public OwnFolderTest {};

TEST_F(FabricFolderTest, IsOneProcessesAlone) {
  auto first = FabricFolder::claim(folder_, "net");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->path(), folder_ + "/net");
  const auto second = FabricFolder::claim(folder_, "net");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().error, EADDRINUSE);
  EXPECT_TRUE(FabricFolder::claim(folder_, "other"));
  *first = FabricFolder();
  EXPECT_NE(access((folder_ + "/net").c_str(), F_OK), 0) << "an empty one goes with its owner";
  EXPECT_TRUE(FabricFolder::claim(folder_, "net"));
}

TEST_F(FabricFolderTest, OfAKilledProcessIsTaken) {
  ASSERT_EQ(mkdir((folder_ + "/net").c_str(), 0700), 0);
  std::ofstream(folder_ + "/net/left") << "something";
  { EXPECT_TRUE(FabricFolder::claim(folder_, "net")); }
  EXPECT_EQ(access((folder_ + "/net/left").c_str(), F_OK), 0);
}

TEST_F(FabricFolderTest, IsNoFileAndNoLink) {
  std::ofstream(folder_ + "/file") << "something";
  ASSERT_EQ(symlink("/tmp", (folder_ + "/link").c_str()), 0);
  EXPECT_FALSE(FabricFolder::claim(folder_, "file"));
  EXPECT_FALSE(FabricFolder::claim(folder_, "link"));
}

TEST_F(FabricFolderTest, ItsEndIsWaitedFor) {
  FabricFolder::wait_until_left(folder_, "net");
  auto claimed = FabricFolder::claim(folder_, "net");
  ASSERT_TRUE(claimed);
  std::thread waits([this] {
    FabricFolder::wait_until_left(folder_, "net");
    EXPECT_NE(access((folder_ + "/net").c_str(), F_OK), 0);
  });
  *claimed = FabricFolder();
  waits.join();
}

}  // namespace
}  // namespace softrnic::control
