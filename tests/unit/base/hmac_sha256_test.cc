#include "base/hmac_sha256.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace softrnic {
namespace {

Bytes bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string hex(const Mac& mac) {
  std::string out;
  char digits[3];
  for (const std::byte byte : mac) {
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(byte));
    out += digits;
  }
  return out;
}

TEST(HmacSha256, VectorsOfRfc4231) {
  EXPECT_EQ(hex(hmac_sha256(bytes(std::string(20, '\x0b')), bytes("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256(bytes("Jefe"), bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(bytes(std::string(131, '\xaa')),
                            bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace softrnic
