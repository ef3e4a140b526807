#include "cli/copy_options.h"

#include <gtest/gtest.h>

namespace softrnic::cli {
namespace {

struct Case {
  const char* text;
  bool good;
  const char* host;
  std::uint16_t port;
};

TEST(SplitHost, FormsOfHostAndPort) {
  for (const Case& c :
       {Case{"host", true, "host", 1}, Case{"host:77", true, "host", 77},
        Case{"192.0.2.7:65535", true, "192.0.2.7", 65535}, Case{"[fe80::1]:9", true, "fe80::1", 9},
        Case{"[fe80::1]", true, "fe80::1", 1}, Case{"fe80::1", true, "fe80::1", 1},
        Case{"host:0", false, "", 0}, Case{"host:65536", false, "", 0}, Case{"host:7x", false, "", 0},
        Case{":7", false, "", 0}, Case{"[::1", false, "", 0}, Case{"[::1]x", false, "", 0},
        Case{"", false, "", 0}}) {
    std::string host;
    std::uint16_t port = 1;
    EXPECT_EQ(split_host(c.text, host, port), c.good) << c.text;
    if (!c.good) continue;
    EXPECT_EQ(host, c.host) << c.text;
    EXPECT_EQ(port, c.port) << c.text;
  }
}

}  // namespace
}  // namespace softrnic::cli
