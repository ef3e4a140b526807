// Queue pairs and completion queues on a fake lane, for what a lane is made of.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "engine/qp_table.h"
#include "rnic/context.h"
#include "rnic/protection_domain.h"
#include "tests/unit/rnic/fake_lane.h"

namespace softrnic::engine::test {

class QueuePairs : public testing::Test {
 protected:
  using OwnedQp = std::unique_ptr<rnic::QueuePair>;

  ~QueuePairs() override {
    EXPECT_TRUE(cq->destroy());
    EXPECT_TRUE(pd->destroy());
  }
  std::unique_ptr<rnic::CompletionQueue> make_cq(int entries) {
    auto made = rnic::CompletionQueue::create(context, entries, nullptr, 0);
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  OwnedQp make_qp() {
    rnic::QueuePairInit init;
    init.send_cq = init.recv_cq = cq.get();
    auto made = rnic::QueuePair::create(*pd, init);
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  /// A queue pair in its place.
  struct Placed {
    explicit Placed(OwnedQp made) : qp(std::move(made)) { slot.qp = qp.get(); }
    ~Placed() { EXPECT_TRUE(qp->destroy()); }
    Placed(const Placed&) = delete;
    Placed& operator=(const Placed&) = delete;
    OwnedQp qp;
    QpSlot slot;
  };

  rnic::test::FakeLanes lanes;
  rnic::Context context{std::make_shared<device::DeviceInfo>(), lanes};
  std::unique_ptr<rnic::ProtectionDomain> pd = std::move(rnic::ProtectionDomain::create(context).value());
  std::unique_ptr<rnic::CompletionQueue> cq = make_cq(16);
};

}  // namespace softrnic::engine::test
