// Threads, fork, and loading by dlopen.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "tests/abi/verbs_fixture.h"
#include "tests/support/fork_at_rest.h"

namespace softrnic::abi_test {
namespace {

using ProcessTest = VerbsTest;

/// One message from `a` to `b`, checked.
bool exchange(ibv_pd* pd, ibv_cq* cq, ibv_qp* a, ibv_qp* b, unsigned char value) {
  alignas(64) unsigned char buffer[256];
  std::memset(buffer, value, sizeof buffer);
  MrPtr mr(ibv_reg_mr(pd, buffer, sizeof buffer, static_cast<int>(IBV_ACCESS_LOCAL_WRITE)));
  std::memset(buffer + 128, 0, 128);
  if (mr == nullptr || post_recv(b, 1, sge_of(buffer + 128, 128, mr.get())) != 0) return false;
  if (post_send(a, 2, sge_of(buffer, 128, mr.get())) != 0) return false;
  int done = 0;
  while (done < 2) {
    ibv_wc wc{};
    if (ibv_poll_cq(cq, 1, &wc) != 1) continue;
    if (wc.status != IBV_WC_SUCCESS) return false;
    ++done;
  }
  return std::memcmp(buffer, buffer + 128, 128) == 0;
}

TEST_F(ProcessTest, ThreadsMakeUseAndDestroyObjectsAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 25;
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        CqPtr own(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0));
        ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
        init.send_cq = init.recv_cq = own.get();
        QpPtr a(ibv_create_qp(pd.get(), &init));
        QpPtr b(ibv_create_qp(pd.get(), &init));
        connect(a.get(), b.get());
        if (exchange(pd.get(), own.get(), a.get(), b.get(), static_cast<unsigned char>(t * kRounds + i)))
          ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, kThreads * kRounds);
}

TEST_F(ProcessTest, AnotherThreadMayDestroy) {
  QpPtr qp = make_qp(IBV_QPT_RC);
  std::thread([&qp] { qp.reset(); }).join();
  EXPECT_EQ(qp, nullptr);
}

/// What a child of a program that has a device open does: opens it itself. 0: all went well.
int run_child() {
  ContextPtr context(open_first());
  if (context == nullptr) return 1;
  PdPtr pd(ibv_alloc_pd(context.get()));
  CqPtr cq(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0));
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq.get();
  init.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  init.qp_type = IBV_QPT_RC;
  QpPtr qp(ibv_create_qp(pd.get(), &init));
  return qp == nullptr ? 2 : 0;
}

TEST_F(ProcessTest, AChildOpensTheDeviceItself) {
  QpPtr a = make_qp(IBV_QPT_RC);
  QpPtr b = make_qp(IBV_QPT_RC);
  connect(a.get(), b.get());
  const pid_t child = test::fork_at_rest();
  if (child == 0) _exit(run_child());
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(exchange(pd.get(), cq.get(), a.get(), b.get(), 7)) << "the parent's go on";
}

TEST_F(ProcessTest, AChildMayNotUseItsParentsObjects) {
  QpPtr qp = make_qp(IBV_QPT_RC);
  const pid_t child = test::fork_at_rest();
  if (child == 0) {
    ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
    const bool made = ibv_create_qp(pd.get(), &init) != nullptr;
    const int destroyed = ibv_destroy_qp(qp.get());
    _exit(made ? 1 : destroyed == 0 ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: it could create; 2: it could not even destroy";
}

TEST(Loading, StaysAfterDlclose) {
  void* const library = dlopen("libibverbs.so.1", RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* const list = reinterpret_cast<ibv_device** (*)(int*)>(dlsym(library, "ibv_get_device_list"));
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(dlclose(library), 0);
  int count = 0;
  ibv_device** devices = list(&count);
  ASSERT_NE(devices, nullptr) << "an unversioned look-up must find the new version";
  EXPECT_EQ(count, 1);
  ibv_free_device_list(devices);
}

TEST(Opening, ManyTimesFromOneProcess) {
  std::vector<ContextPtr> all;
  for (int i = 0; i < 32; ++i) {
    all.emplace_back(open_first());
    ASSERT_NE(all.back(), nullptr);
  }
}

}  // namespace
}  // namespace softrnic::abi_test
