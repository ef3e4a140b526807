// The work requests that a program builds between ibv_wr_start and ibv_wr_complete (ibv_wr_post(3)).
//
// They are kept here until the batch is complete, and not written into the send queue at once: the lock of
// that queue is its lane's, which must not be held while the program's own code runs.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/quick_mutex.h"
#include "base/reason.h"
#include "rnic/queue_pair.h"

namespace softrnic::abi {

/// From start() to complete() or discard() it belongs to one thread; others wait in start(). The first
/// failure within a batch is what complete() returns, and nothing of the batch is posted.
class SendBatch {
 public:
  /// `cap`: as granted; `operations`: bits of enum ibv_qp_create_send_ops_flags. `single_threaded`: one
  /// thread at a time comes by, and no lock is taken.
  SendBatch(rnic::QueuePair& qp, const ibv_qp_cap& cap, std::uint64_t operations, bool single_threaded)
      : qp_(qp), cap_(cap), operations_(operations), locks_(!single_threaded) {}

  void start();
  /// 0, or what post_send() answers: ENOMEM when the send queue has no room for all, EINVAL.
  int complete();
  void discard() {
    if (locks_) mutex_.unlock();
  }

  /// Begins a work request. nullptr, and the batch has failed: `opcode` is not among the operations, or there
  /// are more work requests than the send queue takes.
  ibv_send_wr* begin(ibv_wr_opcode opcode, std::uint64_t wr_id, unsigned flags);
  /// The work request that was begun last. nullptr, and the batch has failed: none was.
  ibv_send_wr* last();

  // ---- payload of that one

  void set_sge(const ibv_sge& sge);
  void set_sges(std::span<const ibv_sge> sges);
  /// The header of a TSO is copied.
  void set_tso(ibv_send_wr& wr, const void* header, std::uint16_t bytes, std::uint16_t mss);
  /// Copies what lies there.
  void set_inline(std::span<const ibv_data_buf> pieces);

  void fail(const Failure& failure);

 private:
  struct Entry {
    ibv_send_wr wr;
    ibv_sge sge;  ///< the one that most have
  };
  struct Free {
    void operator()(void* memory) const;
  };
  /// Room for every work request that the send queue takes; memory is touched only as it is used.
  template <typename T>
  using Room = std::unique_ptr<T[], Free>;

  template <typename T>
  bool has_room(Room<T>& room, std::size_t each);
  Entry* payload_of_last();

  rnic::QueuePair& qp_;
  const ibv_qp_cap cap_;
  const std::uint64_t operations_;
  const bool locks_;
  QuickMutex mutex_;
  std::uint32_t count_ = 0;
  Room<Entry> entries_;
  Room<ibv_sge> sges_;       ///< max_send_sge for each work request
  Room<std::byte> inlined_;  ///< max_inline_data for each
  Room<std::byte> headers_;  ///< limits::kMaxTsoHeader for each
  std::optional<Failure> failure_;
};

/// Lets programs reach the batch of `qp` through its operations. There is room for `newer` of them behind
/// those of the header that this is built with.
void fill_send_operations(ibv_qp_ex& qp, std::size_t newer);

}  // namespace softrnic::abi
