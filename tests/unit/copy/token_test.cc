#include "copy/token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

namespace softrnic::copy {
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

TEST(Token, HmacOfRfc4231) {
  EXPECT_EQ(hex(hmac_sha256(bytes(std::string(20, '\x0b')), bytes("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256(bytes("Jefe"), bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(bytes(std::string(131, '\xaa')),
                            bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Token, ProofBindsEverySaidThing) {
  const Hello hello;
  const Challenge challenge;
  const Ring ring{1, 2, 3, 4};
  const Mac good = prove("a token of theirs", 'c', hello, challenge, 1, ring, {});
  EXPECT_TRUE(same_mac(good, prove("a token of theirs", 'c', hello, challenge, 1, ring, {})));
  Hello other_hello;
  other_hello.nonce[31] = std::byte{1};
  Challenge other_challenge;
  other_challenge.nonce[0] = std::byte{1};
  EXPECT_FALSE(same_mac(good, prove("a token of others", 'c', hello, challenge, 1, ring, {})));
  EXPECT_FALSE(same_mac(good, prove("a token of theirs", 's', hello, challenge, 1, ring, {})));
  EXPECT_FALSE(same_mac(good, prove("a token of theirs", 'c', other_hello, challenge, 1, ring, {})));
  EXPECT_FALSE(same_mac(good, prove("a token of theirs", 'c', hello, other_challenge, 1, ring, {})));
  EXPECT_FALSE(same_mac(good, prove("a token of theirs", 'c', hello, challenge, 2, ring, {})));
  EXPECT_FALSE(same_mac(good, prove("a token of theirs", 'c', hello, challenge, 1, {1, 2, 3, 5}, {})));
}

TEST(Token, ProofBindsQueuePairsOnceBothSidesKnowOfThem) {
  const Hello hello;
  Challenge challenge;
  QueuePairNames names;
  const auto of = [&](const QueuePairNames& said) {
    return prove("a token of theirs", 'c', hello, challenge, 1, {1, 2, 3, 4}, said);
  };
  names.more[6].psn = 1;
  EXPECT_TRUE(same_mac(of({}), of(names))) << "who has never heard of them computes it without";
  challenge.capabilities = kQueuePairs;
  EXPECT_FALSE(same_mac(of({}), of(names)));
  names = {};
  names.count = 2;
  EXPECT_FALSE(same_mac(of({}), of(names)));
}

TEST(Token, EveryByteOfAMacCounts) {
  const Mac a{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    Mac b{};
    b[i] = std::byte{0x80};
    EXPECT_FALSE(same_mac(a, b)) << i;
  }
}

TEST(Token, FreshOnesDiffer) {
  const auto a = fresh_token(), b = fresh_token();
  ASSERT_TRUE(a && b);
  EXPECT_NE(*a, *b);
  EXPECT_GE(a->size(), kMinToken);
}

class TokenFile : public testing::Test {
 protected:
  void write(const std::string& text, mode_t mode) {
    std::ofstream(path_) << text;
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
  }
  std::string path_ = testing::TempDir() + "softrnic-token-" + std::to_string(getpid());
  void TearDown() override { unlink(path_.c_str()); }
};

TEST_F(TokenFile, FirstLineIsTheToken) {
  write("0123456789abcdef\nsecond line\n", 0600);
  const auto token = read_token(path_);
  ASSERT_TRUE(token) << token.error().text;
  EXPECT_EQ(*token, "0123456789abcdef");
}

TEST_F(TokenFile, ThatOthersMayReadIsRefused) {
  write("0123456789abcdef\n", 0640);
  const auto token = read_token(path_);
  ASSERT_FALSE(token);
  EXPECT_NE(token.error().text.find("chmod 600"), std::string::npos);
}

TEST_F(TokenFile, ThatIsShortOrAbsentIsRefused) {
  write("short\n", 0600);
  EXPECT_FALSE(read_token(path_));
  EXPECT_EQ(read_token(path_ + ".not").error().code, ENOENT);
}

}  // namespace
}  // namespace softrnic::copy
