#include "copy/token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

namespace softrnic::copy {
namespace {

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
