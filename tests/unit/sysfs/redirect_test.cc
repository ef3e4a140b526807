// Which paths the preload library takes for its own.
#include "sysfs/preload/redirect.h"

#include <gtest/gtest.h>

#include <string>

namespace softrnic::sysfs {
namespace {

std::string plain(const char* path) {
  char out[64];
  return is_ours(path, out, sizeof out) ? out : "not ours";
}

TEST(Redirect, TakesTheFoldersOfRdmaDevicesAndWhatIsBelow) {
  EXPECT_EQ(plain("/sys/class/infiniband"), "/sys/class/infiniband");
  EXPECT_EQ(plain("/sys/class/infiniband/"), "/sys/class/infiniband");
  EXPECT_EQ(plain("/sys/class/infiniband/soft0/ports"), "/sys/class/infiniband/soft0/ports");
  EXPECT_EQ(plain("/sys/class/infiniband_verbs/uverbs1"), "/sys/class/infiniband_verbs/uverbs1");
  EXPECT_EQ(plain("/dev/infiniband/uverbs1"), "/dev/infiniband/uverbs1");
}

TEST(Redirect, SeesThroughSlashesAndDots) {
  EXPECT_EQ(plain("//sys//class/./infiniband///soft0"), "/sys/class/infiniband/soft0");
  EXPECT_EQ(plain("/sys/class/infiniband/soft0/ports/../node_type"), "/sys/class/infiniband/soft0/node_type");
  EXPECT_EQ(plain("/./dev/infiniband"), "/dev/infiniband");
}

TEST(Redirect, LeavesEverythingElse) {
  for (const char* path :
       {"", "/", "/sys", "/sys/class", "/sys/class/net/lo", "/sys/class/infiniband_qib", "/dev/null",
        "/dev/infinibandx", "/etc/passwd", "sys/class/infiniband", "soft0", "/sys/class/infiniband/..",
        "/sys/class/infiniband/../net", "/sys/class/net/../infiniband"})
    EXPECT_EQ(plain(path), "not ours") << path;
  char out[8];
  EXPECT_FALSE(is_ours(nullptr, out, sizeof out));
}

TEST(Redirect, APathThatIsTooLongIsNotOurs) {
  EXPECT_EQ(plain(("/sys/class/infiniband/" + std::string(100, 'x')).c_str()), "not ours");
  for (std::size_t length = 1; length < 60; ++length) {
    char out[32];
    const std::string path = "/sys/class/infiniband/" + std::string(length, 'x');
    EXPECT_TRUE(!is_ours(path.c_str(), out, sizeof out) || path == out) << length;
  }
}

TEST(Redirect, JoinsAndTellsWhatIsBehind) {
  char out[16];
  ASSERT_TRUE(join("/run/a", "/sys", out, sizeof out));
  EXPECT_STREQ(out, "/run/a/sys");
  EXPECT_FALSE(join("/run/a", "/sys/class", out, sizeof out));
  EXPECT_STREQ(behind("/run/a", "/run/a/sys"), "/sys");
  EXPECT_STREQ(behind("/run/a", "/run/a"), "");
  EXPECT_EQ(behind("/run/a", "/run/ab"), nullptr);
  EXPECT_EQ(behind("", "/sys"), nullptr);
}

}  // namespace
}  // namespace softrnic::sysfs
