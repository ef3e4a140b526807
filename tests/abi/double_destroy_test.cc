// Who destroys an object a second time hears EINVAL, and nothing else happens.
#include <atomic>
#include <thread>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

class DoubleDestroyTest : public VerbsTest {
 protected:
  template <typename T>
  static void expect_once(T* object, int (*destroy)(T*)) {
    ASSERT_NE(object, nullptr);
    EXPECT_EQ(destroy(object), 0);
    for (int again = 0; again < 2; ++again) {
      errno = 0;
      EXPECT_EQ(destroy(object), EINVAL);
      EXPECT_EQ(errno, EINVAL);
    }
  }
};

TEST_F(DoubleDestroyTest, EveryKindOfObject) {
  char memory[64];
  expect_once(ibv_alloc_pd(context.get()), ibv_dealloc_pd);
  expect_once(ibv_reg_mr(pd.get(), memory, sizeof memory, 0), ibv_dereg_mr);
  expect_once(ibv_create_comp_channel(context.get()), ibv_destroy_comp_channel);
  expect_once(ibv_create_cq(context.get(), 1, nullptr, nullptr, 0), ibv_destroy_cq);
  ibv_cq_init_attr_ex extended{};
  extended.cqe = 1;
  expect_once(ibv_cq_ex_to_cq(ibv_create_cq_ex(context.get(), &extended)), ibv_destroy_cq);
  ibv_srq_init_attr srq{};
  srq.attr = {1, 1, 0};
  expect_once(ibv_create_srq(pd.get(), &srq), ibv_destroy_srq);
  expect_once(make_qp(IBV_QPT_RC).release(), ibv_destroy_qp);
  ibv_ah_attr where = address();
  expect_once(ibv_create_ah(pd.get(), &where), ibv_destroy_ah);
  expect_once(open_first(), ibv_close_device);
}

TEST_F(DoubleDestroyTest, WhatWasNeverAnObject) {
  ibv_qp never{};
  EXPECT_EQ(ibv_destroy_qp(&never), EINVAL);
  EXPECT_EQ(ibv_dealloc_pd(reinterpret_cast<ibv_pd*>(cq.get())), EINVAL) << "it is a CQ";
}

TEST_F(DoubleDestroyTest, ARefusedDestructionCanBeRepeated) {
  QpPtr qp = make_qp(IBV_QPT_RC);
  EXPECT_EQ(ibv_destroy_cq(cq.get()), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(cq.get()), EBUSY);
  qp.reset();
  EXPECT_EQ(ibv_destroy_cq(cq.release()), 0);
}

TEST_F(DoubleDestroyTest, OfSeveralThreadsOneDoesIt) {
  for (int round = 0; round < 200; ++round) {
    ibv_pd* const shared = ibv_alloc_pd(context.get());
    std::atomic<int> successes{0};
    const auto destroy = [&] { successes += ibv_dealloc_pd(shared) == 0 ? 1 : 0; };
    std::thread other(destroy);
    destroy();
    other.join();
    EXPECT_EQ(successes, 1);
  }
}

}  // namespace
}  // namespace softrnic::abi_test
