#include "transport/ib/send_queue.h"

#include <gtest/gtest.h>

namespace softrnic::ib {
namespace {

TEST(SendQueue, GivesRoomForSgesAndInlineBytes) {
  SendQueue queue({.send_wqes = 2, .send_sges = 3, .inline_bytes = 100});
  SendSlot slot = queue.reserve();
  ASSERT_NE(slot.wqe, nullptr);
  EXPECT_EQ(slot.sges.size(), 3U);
  EXPECT_EQ(slot.inline_data.size(), 100U);
  slot.wqe->sge_count = 2;
  slot.sges[1].length = 9;
  queue.commit();
  EXPECT_EQ(queue.sges(queue.front()).size(), 2U);
  EXPECT_EQ(queue.sges(queue.front())[1].length, 9U);
}

TEST(SendQueue, NeighboursDoNotOverlap) {
  SendQueue queue({.send_wqes = 3, .send_sges = 1, .inline_bytes = 21});
  for (std::uint8_t i = 0; i < 3; ++i) {
    SendSlot slot = queue.reserve();
    slot.wqe->wr_id = i;
    slot.wqe->is_inline = true;
    for (std::byte& b : slot.inline_data) b = std::byte{i};
    queue.commit();
  }
  EXPECT_EQ(queue.reserve().wqe, nullptr);
  for (std::uint8_t i = 0; i < 3; ++i) {
    EXPECT_EQ(queue.front().wqe.wr_id, i);
    EXPECT_EQ(queue.inline_data(queue.front())[20], std::byte{i});
    EXPECT_TRUE(queue.sges(queue.front()).empty());
    queue.pop();
  }
}

TEST(SendQueue, GoesRound) {
  SendQueue queue({.send_wqes = 3, .send_sges = 1, .inline_bytes = 0});
  for (std::uint64_t i = 0; i < 100; ++i) {
    SendSlot slot = queue.reserve();
    ASSERT_NE(slot.wqe, nullptr);
    slot.wqe->wr_id = i;
    queue.commit();
    if (queue.size() == 3) {
      EXPECT_EQ(queue.front().wqe.wr_id, i - 2);
      queue.pop();
    }
  }
}

TEST(SendQueue, ASlotIsClearWhenItIsReused) {
  SendQueue queue({.send_wqes = 1, .send_sges = 1, .inline_bytes = 0});
  queue.reserve().wqe->fence = true;
  queue.commit();
  queue.pop();
  EXPECT_FALSE(queue.reserve().wqe->fence);
}

}  // namespace
}  // namespace softrnic::ib
