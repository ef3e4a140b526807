// Extended completion queues: polling in batches, every field, timestamps, creation flags.
#include <arpa/inet.h>

#include <cerrno>
#include <ctime>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

constexpr std::uint64_t kTimes =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

std::uint64_t ns_by(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

class ExtendedCompletionTest : public VerbsTest {
 protected:
  static ibv_cq_init_attr_ex asked(std::uint32_t entries, std::uint64_t fields = IBV_WC_STANDARD_FLAGS) {
    ibv_cq_init_attr_ex init{};
    init.cqe = entries;
    init.wc_flags = fields;
    return init;
  }
  void create(ibv_cq_init_attr_ex init) {
    extended = ibv_create_cq_ex(context.get(), &init);
    ASSERT_NE(extended, nullptr) << std::strerror(errno);
    cq.reset(ibv_cq_ex_to_cq(extended));
  }
  int refusal(ibv_cq_init_attr_ex init) {
    errno = 0;
    return ibv_create_cq_ex(context.get(), &init) == nullptr ? errno : 0;
  }
  /// A queue pair whose flushed receives are the completions.
  void completions(std::uint64_t first, std::uint64_t count) {
    if (flushing == nullptr) {
      flushing = make_qp(IBV_QPT_RC);
      ASSERT_EQ(to_state(flushing.get(), IBV_QPS_ERR), 0);
    }
    for (std::uint64_t id = first; id < first + count; ++id)
      ASSERT_EQ(post_recv(flushing.get(), id, ibv_sge{}), 0);
  }
  int start() {
    ibv_poll_cq_attr attributes{};
    return ibv_start_poll(extended, &attributes);
  }

  ibv_cq_ex* extended = nullptr;
  QpPtr flushing;
};

TEST_F(ExtendedCompletionTest, WhatIsNotThereIsRefused) {
  EXPECT_EQ(refusal(asked(0)), EINVAL);
  EXPECT_EQ(refusal(asked(UINT32_MAX)), EINVAL);
  EXPECT_EQ(refusal(asked(8, std::uint64_t{1} << 50)), EOPNOTSUPP);
  auto vector = asked(8);
  vector.comp_vector = UINT32_MAX;
  EXPECT_EQ(refusal(vector), EINVAL);
  auto flags = asked(8);
  flags.flags = 1U << 30;
  flags.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  EXPECT_EQ(refusal(flags), EOPNOTSUPP);
  auto domain = asked(8);
  domain.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;  // but names none
  EXPECT_EQ(refusal(domain), EINVAL);
}

TEST_F(ExtendedCompletionTest, ABatchGoesOnUntilNothingIsLeft) {
  create(asked(64));
  ibv_poll_cq_attr unknown{.comp_mask = 1};
  EXPECT_EQ(ibv_start_poll(extended, &unknown), EINVAL);
  EXPECT_EQ(start(), ENOENT);
  EXPECT_EQ(start(), ENOENT) << "it was not begun, so there is nothing to end";
  completions(1, 40);
  ASSERT_EQ(start(), 0);
  for (std::uint64_t id = 1; id <= 40; ++id) {
    EXPECT_EQ(extended->wr_id, id);
    EXPECT_EQ(extended->status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(ibv_next_poll(extended), id < 40 ? 0 : ENOENT);
  }
  completions(41, 1);
  EXPECT_EQ(ibv_next_poll(extended), 0) << "as long as the batch is not ended";
  EXPECT_EQ(extended->wr_id, 41U);
  ibv_end_poll(extended);
  EXPECT_EQ(start(), ENOENT);
}

TEST_F(ExtendedCompletionTest, WhatIsNotReachedStays) {
  create(asked(64));
  completions(1, 30);
  ASSERT_EQ(start(), 0);
  ASSERT_EQ(ibv_next_poll(extended), 0);
  ibv_end_poll(extended);
  ibv_wc wc[4];
  ASSERT_EQ(ibv_poll_cq(cq.get(), 4, wc), 4) << "either way of polling";
  EXPECT_EQ(wc[0].wr_id, 3U);
  EXPECT_EQ(wc[3].wr_id, 6U);
  for (std::uint64_t id = 7; id <= 30; ++id) {
    ASSERT_EQ(start(), 0);
    EXPECT_EQ(extended->wr_id, id);
    ibv_end_poll(extended);
  }
  EXPECT_EQ(start(), ENOENT);
}

TEST_F(ExtendedCompletionTest, ADestroyedQueuePairHasNoneLeft) {
  create(asked(64));
  completions(1, 10);
  ASSERT_EQ(start(), 0);
  flushing.reset();
  EXPECT_EQ(ibv_next_poll(extended), ENOENT);
  ibv_end_poll(extended);
  completions(11, 10);
  ASSERT_EQ(start(), 0);
  flushing.reset();
  ibv_end_poll(extended);
  EXPECT_EQ(start(), ENOENT);
}

TEST_F(ExtendedCompletionTest, AFullQueueTakesBackWhatWasNotReached) {
  create(asked(4));
  completions(1, 4);
  ASSERT_EQ(start(), 0);
  completions(5, 4);
  ibv_end_poll(extended);
  ASSERT_EQ(start(), 0);
  std::uint64_t id = 2;
  do {
    EXPECT_EQ(extended->wr_id, id++);
  } while (ibv_next_poll(extended) == 0);
  EXPECT_EQ(id, 9U);
  ibv_end_poll(extended);
}

TEST_F(ExtendedCompletionTest, TheFieldsAreThoseOfTheCompletion) {
  create(asked(64));
  char from[] = "fields", to[16]{};
  const MrPtr from_mr = make_mr(from, sizeof from, 0);
  const MrPtr to_mr = make_mr(to, sizeof to, IBV_ACCESS_LOCAL_WRITE);
  const QpPtr a = make_qp(IBV_QPT_RC), b = make_qp(IBV_QPT_RC);
  connect(a.get(), b.get());
  ASSERT_EQ(post_recv(b.get(), 5, sge_of(to, sizeof to, to_mr.get())), 0);
  ibv_sge sge = sge_of(from, sizeof from, from_mr.get());
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  wr.imm_data = htonl(1234);
  ASSERT_EQ(ibv_post_send(a.get(), &wr, &bad), 0);
  int none = ENOENT;
  while (none == ENOENT) none = start();
  ASSERT_EQ(none, 0);
  EXPECT_EQ(extended->wr_id, 5U);
  EXPECT_EQ(extended->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(extended), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_byte_len(extended), sizeof from);
  EXPECT_EQ(ibv_wc_read_imm_data(extended), htonl(1234));
  EXPECT_EQ(ibv_wc_read_wc_flags(extended), unsigned{IBV_WC_WITH_IMM});
  EXPECT_EQ(ibv_wc_read_qp_num(extended), b->qp_num);
  EXPECT_EQ(ibv_wc_read_src_qp(extended), 0U) << "of datagrams only";
  EXPECT_EQ(ibv_wc_read_vendor_err(extended), 0U);
  EXPECT_EQ(ibv_wc_read_slid(extended), 0U);
  EXPECT_EQ(ibv_wc_read_sl(extended), 0);
  EXPECT_EQ(ibv_wc_read_dlid_path_bits(extended), 0);
  EXPECT_EQ(ibv_wc_read_completion_ts(extended), 0U) << "none was asked for";
  ibv_end_poll(extended);
}

TEST_F(ExtendedCompletionTest, Timestamps) {
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &device), 0);
  EXPECT_EQ(device.completion_timestamp_mask, UINT64_MAX);
  EXPECT_EQ(device.hca_core_clock, 1'000'000U) << "kHz: nanoseconds";
  const auto raw_clock = [&] {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    EXPECT_EQ(ibv_query_rt_values_ex(context.get(), &values), 0);
    EXPECT_EQ(values.comp_mask, std::uint32_t{IBV_VALUES_MASK_RAW_CLOCK});
    return static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
  };
  create(asked(64, IBV_WC_STANDARD_FLAGS | kTimes));
  const std::uint64_t before = raw_clock(), wall_before = ns_by(CLOCK_REALTIME);
  completions(1, 20);
  const std::uint64_t after = raw_clock(), wall_after = ns_by(CLOCK_REALTIME);
  ASSERT_EQ(start(), 0);
  std::uint64_t last = before;
  constexpr std::uint64_t kSlack = 10'000'000;  // what the wall clock is slewed in between
  for (int i = 1; i <= 20; ++i) {
    EXPECT_GE(ibv_wc_read_completion_ts(extended), last);
    last = ibv_wc_read_completion_ts(extended);
    EXPECT_GE(ibv_wc_read_completion_wallclock_ns(extended) + kSlack, wall_before);
    EXPECT_LE(ibv_wc_read_completion_wallclock_ns(extended), wall_after + kSlack);
    if (i == 10) {  // also the times of those that go back
      ibv_end_poll(extended);
      ASSERT_EQ(start(), 0);
    } else {
      EXPECT_EQ(ibv_next_poll(extended), i < 20 ? 0 : ENOENT);
    }
  }
  EXPECT_LE(last, after);
  ibv_end_poll(extended);
}

TEST_F(ExtendedCompletionTest, OverrunsCanBeIgnored) {
  auto init = asked(4);
  init.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  init.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN | IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  create(init);
  completions(1, 6);
  ASSERT_EQ(start(), 0);
  EXPECT_EQ(extended->wr_id, 3U) << "the newest four";
  ibv_end_poll(extended);
  EXPECT_EQ(ibv_resize_cq(cq.get(), 8), 0);
  completions(7, 4);
  ASSERT_EQ(start(), 0);
  EXPECT_EQ(extended->wr_id, 4U);
  ibv_end_poll(extended);
}

TEST_F(ExtendedCompletionTest, OverrunBreaksTheOthers) {
  create(asked(2));
  completions(1, 3);
  ASSERT_EQ(start(), 0);
  EXPECT_EQ(ibv_next_poll(extended), 0);
  EXPECT_EQ(ibv_next_poll(extended), EIO);
  ibv_end_poll(extended);
  EXPECT_EQ(start(), EIO);
}

}  // namespace
}  // namespace softrnic::abi_test
