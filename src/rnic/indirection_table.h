// An indirection table: which work queue gets the frames of a hash (ibv_create_rwq_ind_table(3)).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/object.h"
#include "rnic/work_queue.h"

namespace softrnic::rnic {

class IndirectionTable {
 public:
  static constexpr std::uint32_t kMaxLogSize = 11;  ///< 2048 places, as mlx5 has

  /// `queues`: a power of two of them, none null, all of `context`, in use until destroy(). EINVAL else.
  static Expected<std::unique_ptr<IndirectionTable>, Failure> create(Context& context,
                                                                     std::span<WorkQueue* const> queues);
  /// EBUSY: queue pairs use it. Delete it afterwards.
  Expected<void, Failure> destroy();

  Context& context() const { return context_; }
  std::uint32_t number() const { return number_; }
  WorkQueue& queue_for(std::uint32_t hash) const { return *queues_[hash & (queues_.size() - 1)]; }

  /// See QueuePair::room_for_frames(): of the queue that has the least.
  std::size_t room_for_frames() const;

  UseCount uses;  ///< by queue pairs

 private:
  IndirectionTable(Context& context, std::span<WorkQueue* const> queues);

  Context& context_;
  const std::uint32_t number_;
  const std::vector<WorkQueue*> queues_;
};

}  // namespace softrnic::rnic
