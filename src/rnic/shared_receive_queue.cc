#include "rnic/shared_receive_queue.h"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <mutex>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/protection_domain.h"
#include "rnic/refusal.h"
#include "rnic/work_requests.h"

namespace softrnic::rnic {
namespace {

/// Numbers go up from one drawn by chance: in another process of this host they are hardly ever the same, so
/// that a request that went to the wrong process is refused there.
std::uint32_t next_number() {
  static std::atomic<std::uint32_t> next{[] {
    std::uint32_t start = 0;
    return getrandom(&start, sizeof start, GRND_NONBLOCK) == sizeof start ? start : 1U;
  }()};
  std::uint32_t number = 0;
  while (number == 0) number = next.fetch_add(1, std::memory_order_relaxed) & wire::kPsnMask;
  return number;
}

}  // namespace

SharedReceiveQueue::SharedReceiveQueue(ProtectionDomain& pd)
    : EventTarget(Kind::shared_receive_queue), pd_(pd) {}

const ProtectionDomain& SharedReceiveQueue::pd() const { return pd_.root(); }

std::uint32_t SharedReceiveQueue::max_sges() {
  const std::lock_guard lock(mutex_);
  return queue_.max_sges();
}

ReceiveQueue::Memory SharedReceiveQueue::memory() const {
  return {pd_.memory_source(), QueueKind::shared_receive};
}

Expected<std::unique_ptr<SharedReceiveQueue>, Failure> SharedReceiveQueue::create(ProtectionDomain& pd,
                                                                                  ibv_srq_attr& attributes) {
  Context& context = pd.context();
  if (attributes.max_wr > limits::kMaxSrqWrs) {
    return refused(EINVAL, ReasonId::bad_cap, attributes.max_wr, limits::kMaxSrqWrs, CapField::max_wr);
  }
  if (attributes.max_sge > limits::kMaxSges) {
    return refused(EINVAL, ReasonId::bad_cap, attributes.max_sge, limits::kMaxSges, CapField::max_sge);
  }
  if (context.counts.srqs.users() >= limits::kMaxSrqs) {
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxSrqs, ObjectKind::srq);
  }
  attributes.max_wr = std::bit_ceil(attributes.max_wr);
  attributes.max_sge = std::max(attributes.max_sge, 1U);
  attributes.srq_limit = 0;  // ibv_create_srq(3): ignored
  std::unique_ptr<SharedReceiveQueue> srq(new SharedReceiveQueue(pd));
  if (!srq->queue_.allocate(attributes.max_wr, attributes.max_sge, srq->memory())) {
    return refused(ENOMEM, ReasonId::out_of_memory,
                   std::uint64_t{attributes.max_wr} * attributes.max_sge * 16);
  }
  pd.uses.add();
  context.counts.srqs.add();
  return srq;
}

Expected<std::unique_ptr<SharedReceiveQueue>, Failure> SharedReceiveQueue::create(ProtectionDomain& pd,
                                                                                  CompletionQueue& cq,
                                                                                  ibv_srq_attr& attributes) {
  if (pd.context().has_streams()) return refused(EOPNOTSUPP, ReasonId::iwarp_no_tags);
  if (&cq.context() != &pd.context()) return refused(EINVAL, ReasonId::foreign_object);
  auto made = create(pd, attributes);
  if (!made) return made;
  (*made)->cq_ = &cq;
  (*made)->srq_number_ = next_number();
  cq.add_user();
  return made;
}

Expected<void, Failure> SharedReceiveQueue::destroy() {
  if (uses.users() != 0) return refused(EBUSY, ReasonId::object_busy, uses.users(), ObjectKind::srq);
  pd_.context().events().retire(*this);
  if (cq_ != nullptr) cq_->remove_user();
  queue_ = ReceiveQueue();
  pd_.uses.release();
  pd_.context().counts.srqs.release();
  return {};
}

Expected<void, Failure> SharedReceiveQueue::modify(const ibv_srq_attr& attributes, int mask) {
  const bool resize = (mask & IBV_SRQ_MAX_WR) != 0;
  if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) {
    return refused(EINVAL, ReasonId::bad_srq_mask, mask);
  }
  if (resize && (attributes.max_wr == 0 || attributes.max_wr > limits::kMaxSrqWrs)) {
    return refused(EINVAL, ReasonId::bad_cap, attributes.max_wr, limits::kMaxSrqWrs, CapField::max_wr);
  }
  ReceiveQueue resized;  // made, and what was there given up, when no lock is held
  std::unique_lock lock(mutex_);
  const auto check = [&]() -> Expected<void, Failure> {
    const std::uint32_t wrs = resize ? std::bit_ceil(attributes.max_wr) : queue_.max_wrs();
    const std::uint32_t limit = (mask & IBV_SRQ_LIMIT) != 0 ? attributes.srq_limit : limit_;
    if (limit > wrs) return refused(EINVAL, ReasonId::srq_limit_bad, limit, wrs);
    if (wrs < queue_.size()) return refused(EINVAL, ReasonId::srq_resize_too_small, wrs, queue_.size());
    return {};
  };
  if (auto ok = check(); !ok) return ok;
  if (resize) {
    lock.unlock();
    if (!resized.allocate(std::bit_ceil(attributes.max_wr), max_sges(), memory()))
      return refused(ENOMEM, ReasonId::out_of_memory, std::uint64_t{attributes.max_wr} * 16);
    lock.lock();
    if (auto ok = check(); !ok) return ok;  // more may have been posted meanwhile
    queue_.move_to(resized);
    std::swap(queue_, resized);
  }
  if ((mask & IBV_SRQ_LIMIT) != 0) limit_ = attributes.srq_limit;
  return {};
}

ibv_srq_attr SharedReceiveQueue::query() const {
  const std::lock_guard lock(mutex_);
  return {queue_.max_wrs(), queue_.max_sges(), limit_};
}

Expected<void, Failure> SharedReceiveQueue::post(ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  const std::lock_guard lock(mutex_);
  for (; wr != nullptr; wr = wr->next) {
    if (auto ok = check_receive(*wr, queue_.size(), queue_); !ok) {
      *bad_wr = wr;
      return refused(ok.error(), {.wr_id = wr->wr_id, .has_wr_id = true});
    }
    queue_.push(*wr);
  }
  return {};
}

bool SharedReceiveQueue::take(TakenReceive& out) {
  const std::lock_guard lock(mutex_);
  return take_next(out);
}

bool SharedReceiveQueue::take_next(TakenReceive& out) {
  if (queue_.size() == 0) return false;
  out.take_from(queue_);
  if (queue_.size() < limit_) {  // IBTA 10.2.9.5: once, until it is armed again
    limit_ = 0;
    pd_.context().events().raise(IBV_EVENT_SRQ_LIMIT_REACHED, *this);
  }
  return true;
}

}  // namespace softrnic::rnic
