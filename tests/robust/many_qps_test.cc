// Ten thousand queue pairs in one process.
#include <time.h>

#include <fstream>
#include <string>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::robust {
namespace {

using namespace abi_test;

constexpr std::size_t kQps = 10000;
constexpr std::size_t kPart = kQps / 5;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMostBytes = 1 << 20;
#else
constexpr std::size_t kMostBytes = 16384;  // a QP, its queues of 16 work requests included
#endif

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

class ManyQpsTest : public VerbsTest {
 protected:
  void create(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      qps_.push_back(make_qp(IBV_QPT_RC));
      ASSERT_NE(qps_.back(), nullptr) << qps_.size();
    }
  }
  void destroy(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) qps_.pop_back();
  }
  /// Sends something from QP 2i to QP 2i+1 for every `step`-th pair.
  void use_pairs(std::size_t step) {
    std::vector<std::uint8_t> memory(256);
    const auto mr = make_mr(memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    for (std::size_t i = 0; i + 1 < qps_.size(); i += 2 * step) {
      ibv_qp* const a = qps_[i].get();
      ibv_qp* const b = qps_[i + 1].get();
      ASSERT_EQ(to_state(a, IBV_QPS_RESET) | to_state(b, IBV_QPS_RESET), 0);
      connect(a, b);
      memory[0] = static_cast<std::uint8_t>(i);
      memory[128] = static_cast<std::uint8_t>(~i);
      ASSERT_EQ(post_recv(b, i, sge_of(memory.data() + 128, 64, mr.get())), 0);
      ASSERT_EQ(post_send(a, i, sge_of(memory.data(), 64, mr.get())), 0);
      for (const ibv_wc& wc : collect(cq.get(), 2)) ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
      ASSERT_EQ(memory[128], memory[0]);
    }
  }

  std::vector<QpPtr> qps_;
};

TEST_F(ManyQpsTest, TenThousandAreCheapAndTheLastAsQuickAsTheFirst) {
  create(16);
  const std::size_t before = resident_bytes();
  double seconds[5] = {};
  for (double& part : seconds) {
    part = -processor_seconds();
    create(kPart);
    part += processor_seconds();
  }
  const std::size_t each = (resident_bytes() - before) / kQps;
  RecordProperty("bytes_each", static_cast<int>(each));
  RecordProperty("microseconds_each", static_cast<int>(1e6 * seconds[0] / kPart));
  EXPECT_LE(each, kMostBytes);
  EXPECT_LE(seconds[4], 5 * seconds[0] + 0.2) << "the first took " << seconds[0] << " s";
  use_pairs(25);

  for (double& part : seconds) {
    part = -processor_seconds();
    destroy(kPart);
    part += processor_seconds();
  }
  EXPECT_LE(seconds[0], 5 * seconds[4] + 0.2) << "the last took " << seconds[4] << " s";
  EXPECT_EQ(qps_.size(), 16U);
  use_pairs(1);
}

}  // namespace
}  // namespace softrnic::robust
