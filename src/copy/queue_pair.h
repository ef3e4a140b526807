// One of the queue pairs of a connection: what was posted to it, how much of that is done, and its receives.
#pragma once

#include <cstdint>
#include <vector>

#include "copy/greeting.h"
#include "copy/verbs.h"

namespace softrnic::copy {

/// Most frames that a side keeps in flight: what a ring may have at most.
inline constexpr std::uint32_t kMaxSlots = 32;

/// An operation that was posted; the one that never was is done.
struct Serial {
  std::uint32_t queue_pair = 0;
  std::uint64_t number = 0;  ///< from 1
};

class QueuePair {
 public:
  /// Receives posted at once: a post may have to wait for the adapter
  static constexpr std::uint32_t kRepost = 16;
  /// Every frame, and a credit for each
  static constexpr std::uint32_t kReceives = 2 * kMaxSlots + 8 + kRepost;
  static constexpr std::uint32_t kSends = 2 * kMaxSlots + 8;
  static constexpr std::uint32_t kInlineBytes = sizeof(std::uint64_t);  ///< a word of a board
  static constexpr std::uint32_t kEntries = kReceives + kSends;         ///< of the completion queue, at most

  /// What a queue pair on `queue` has to be made with.
  static ibv_qp_init_attr wanted(ibv_cq* queue);

  /// `qp` outlives this. `messages`: kReceives times kMaxMessage bytes, where messages come to; with
  /// nullptr it takes frames alone.
  QueuePair(std::uint32_t index, ibv_qp* qp, const Buffer* messages)
      : index_(index), qp_(qp), messages_(messages) {}

  ibv_qp* get() const { return qp_; }
  Result<void> post_all_receives();
  /// Gives back the receive that `completion` was of, once kRepost of them have come together.
  Result<void> post_receive(const ibv_wc& completion) { return post_receive(receive_of(completion)); }
  /// What a message has brought.
  Bytes received(const ibv_wc& completion) const;

  bool is_full() const { return posted_ - done_ >= kSends; }
  Result<Serial> post(ibv_send_wr& wr);
  /// Operations of one queue pair complete in their order.
  bool is_done(std::uint64_t number) const { return done_ >= number; }
  bool all_done() const { return done_ == posted_; }
  void completed_one() { ++done_; }

  /// Which of a connection's queue pairs the completion is of.
  static std::uint32_t index_of(const ibv_wc& completion) {
    return static_cast<std::uint32_t>(completion.wr_id >> 32);
  }

 private:
  static std::uint32_t receive_of(const ibv_wc& completion) {
    return static_cast<std::uint32_t>(completion.wr_id);
  }
  Result<void> post_receive(std::uint32_t index);
  std::uint64_t id_of(std::uint32_t receive) const { return std::uint64_t{index_} << 32 | receive; }

  std::uint32_t index_;
  ibv_qp* qp_;
  const Buffer* messages_;
  std::vector<std::uint32_t> unposted_;  ///< receives that are to be posted again
  std::uint64_t posted_ = 0, done_ = 0;
};

}  // namespace softrnic::copy
