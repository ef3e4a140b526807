#include "rnic/xrc_domain.h"

#include <algorithm>
#include <mutex>

#include "rnic/completion_queue.h"
#include "rnic/queue_pair.h"
#include "rnic/shared_receive_queue.h"

namespace softrnic::rnic {

void XrcDomain::add(SharedReceiveQueue& srq) {
  for (const QueuePair* target : targets_) srq.cq()->add_lane(target->lane());
  const std::lock_guard lock(mutex_);
  srqs_.emplace(srq.srq_number(), &srq);
}

void XrcDomain::remove(SharedReceiveQueue& srq) {
  {
    const std::lock_guard lock(mutex_);
    srqs_.erase(srq.srq_number());
  }
  for (QueuePair* target : targets_) target->forget(srq);
}

void XrcDomain::add(QueuePair& target) {
  targets_.push_back(&target);
  const std::lock_guard lock(mutex_);
  for (const auto& [number, srq] : srqs_) srq->cq()->add_lane(target.lane());
}

void XrcDomain::remove(QueuePair& target) {
  std::erase(targets_, &target);
  target.leave_domain();
}

SharedReceiveQueue* XrcDomain::find(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = srqs_.find(number);
  return found == srqs_.end() ? nullptr : found->second;
}

}  // namespace softrnic::rnic
