// Programs that lack something: descriptors, threads, memory, /proc, stdin. They work, or
// are told what is missing.
#include <stdlib.h>

#include <cerrno>
#include <string>

#include "workers.h"

namespace softrnic::robust {
namespace {

constexpr int kRefused = 1, kNotHere = 4;

struct Outcome {
  int status;
  std::string said;  ///< on stderr

  bool says(const std::string& text) const { return said.find(text) != std::string::npos; }
};

/// How a worker ends, and its last words.
Outcome outcome_of(const std::vector<std::string>& words) {
  testing::internal::CaptureStderr();
  const int status = Worker(words, UniqueFd()).wait();
  return {status, testing::internal::GetCapturedStderr()};
}

class HardshipTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("SOFTRNIC_EXPLAIN", "1", 1); }
  static void TearDownTestSuite() { unsetenv("SOFTRNIC_EXPLAIN"); }
  void SetUp() override { end_daemon(); }
  void TearDown() override {
    end_daemon();  // it may be user nobody's
    const Outcome outcome = outcome_of({"once"});
    EXPECT_EQ(outcome.status, 0) << "nobody else suffers: " << outcome.said;
    EXPECT_TRUE(daemon_gets_to(is_quiet));
  }

  /// With ever more of `resource`, until there is enough: each refusal has `error`, and `cure` among its
  /// words.
  static void grow(const std::string& resource, std::uint64_t from, std::uint64_t to,
                   std::uint64_t (*next)(std::uint64_t), const std::vector<std::string>& errors,
                   const std::string& cure) {
    unsigned refusals = 0;
    for (std::uint64_t amount = from; amount <= to; amount = next(amount)) {
      const Outcome outcome = outcome_of({"limit", resource, std::to_string(amount), "once"});
      if (outcome.status == 0) {
        EXPECT_GT(refusals, 0U) << "too much to begin with";
        return;
      }
      ++refusals;
      ASSERT_EQ(outcome.status, kRefused) << resource << ' ' << amount << '\n' << outcome.said;
      EXPECT_TRUE(outcome.says(cure)) << resource << ' ' << amount << '\n' << outcome.said;
      bool expected = false;
      for (const std::string& error : errors) expected |= outcome.says("worker: " + error + "\n");
      EXPECT_TRUE(expected) << resource << ' ' << amount << '\n' << outcome.said;
    }
    FAIL() << resource << ' ' << to << " is not enough";
  }
};

std::uint64_t one_more(std::uint64_t amount) { return amount + 1; }
std::uint64_t a_quarter_more(std::uint64_t amount) { return amount + amount / 4; }

TEST_F(HardshipTest, TooFewDescriptors) {
  Worker other({"hold"}, UniqueFd());
  ASSERT_TRUE(other.reports(1));
  grow("nofile", 4, 64, one_more, {"EMFILE"}, "ulimit -n");
}

TEST_F(HardshipTest, TooFewDescriptorsToStartTheDaemon) {
  for (std::uint64_t amount = 4; amount < 64; amount += 6) {
    const Outcome outcome = outcome_of({"limit", "nofile", std::to_string(amount), "once"});
    EXPECT_EQ(outcome.status, kRefused) << amount << '\n' << outcome.said;
    EXPECT_TRUE(outcome.says("EMFILE") && outcome.says("ulimit -n")) << amount << '\n' << outcome.said;
  }
}

TEST_F(HardshipTest, TooLittleAddressSpace) {
  Worker other({"hold"}, UniqueFd());
  ASSERT_TRUE(other.reports(1));
  grow("address-space", 4096, 1ULL << 30, a_quarter_more, {"ENOMEM", "EAGAIN"}, "memory");
}

TEST_F(HardshipTest, NoThreads) {
  Worker other({"as-nobody", "hold"}, UniqueFd());
  ASSERT_TRUE(other.reports(1)) << "can user nobody reach the build folder?";
  const Outcome outcome = outcome_of({"as-nobody", "limit", "nproc", "1", "once"});
  EXPECT_EQ(outcome.status, kRefused) << outcome.said;
  EXPECT_TRUE(outcome.says("worker: EAGAIN") && outcome.says("ulimit -n, -u, -v")) << outcome.said;
}

TEST_F(HardshipTest, NoProcessForTheDaemon) {
  const Outcome outcome = outcome_of({"as-nobody", "limit", "nproc", "1", "once"});
  EXPECT_EQ(outcome.status, kRefused) << outcome.said;
  EXPECT_TRUE(outcome.says("worker: EAGAIN") && outcome.says("ulimit -n, -u, -v")) << outcome.said;
}

TEST_F(HardshipTest, NoFileMayGrow) {
  const Outcome outcome = outcome_of({"limit", "file-size", "0", "once"});
  EXPECT_EQ(outcome.status, 0) << outcome.said;
}

TEST_F(HardshipTest, NoStandardDescriptors) {
  EXPECT_EQ(outcome_of({"without-stdio", "once"}).status, 0) << "starts the daemon";
  EXPECT_EQ(outcome_of({"without-stdio", "once"}).status, 0);
}

TEST_F(HardshipTest, NoProc) {
  for (unsigned time = 0; time < 2; ++time) {  // the first starts the daemon
    const Outcome outcome = outcome_of({"without-proc", "once"});
    if (outcome.status == kNotHere) GTEST_SKIP() << "no mount namespaces on this system";
    EXPECT_EQ(outcome.status, 0) << outcome.said;
  }
}

TEST(Leaving, WithEverythingOpenIsQuietAndQuick) {
  for (const char* how : {"exit", "_exit", "quick_exit", "return"}) {
    for (unsigned round = 0; round < 8; ++round) {
      const Outcome outcome = outcome_of({"leave", how});
      EXPECT_EQ(outcome.status, 0) << how;
      EXPECT_EQ(outcome.said, "") << how;
    }
  }
  EXPECT_TRUE(daemon_gets_to(is_quiet));
}

}  // namespace
}  // namespace softrnic::robust
