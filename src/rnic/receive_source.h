// Where a queue pair takes its receives from: its own receive queue, the SRQ that it was given (IBTA 10.2.9;
// of tag matching too), or, as an XRC target, the SRQ that a request names (A14). What goes with a receive
// differs too: the keys of which protection domain hold, and where its completion goes.
#pragma once

#include <infiniband/verbs.h>

#include <optional>
#include <utility>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/receive_queue.h"
#include "rnic/tag_matching.h"
#include "transport/ib/types.h"

namespace softrnic::rnic {

class CompletionQueue;
class ProtectionDomain;
class SharedReceiveQueue;
class XrcDomain;

/// Guarded by the lane's lock, as the queue pair is. One receive at a time is taken and not completed.
class ReceiveSource {
 public:
  /// Its own queue, which has no place before allocate(), or `srq`; an XRC target: the SRQs of `domain`.
  ReceiveSource(const ProtectionDomain* pd, SharedReceiveQueue* srq, CompletionQueue* cq,
                XrcDomain* domain = nullptr);
  ReceiveSource(const ReceiveSource&) = delete;
  ReceiveSource& operator=(const ReceiveSource&) = delete;

  /// The next receive, good until the next call; nullptr: none is posted.
  const ib::RecvWqe* take();
  /// The same from an SRQ with tag matching, for a message; `reads`: the queue pair may send READs.
  const ib::RecvWqe* take(const TagMessage& message, bool reads);
  /// The one that was taken is completed.
  void completed() { taken_out_ = false; }

  // ---- of the receive that was taken last, or that will be
  const ProtectionDomain* pd() const { return from_.pd; }  ///< whose keys it uses
  CompletionQueue* cq() const { return from_.cq; }

  // ---- its own queue

  /// False: no memory.
  bool allocate(std::uint32_t wrs, std::uint32_t sges, MemorySource* source) {
    return queue_.allocate(wrs, sges, {source, QueueKind::receive});
  }
  /// The queue pair is about to end.
  void give_up_memory() { queue_ = ReceiveQueue(); }
  bool has_queue() const { return queue_.max_wrs() != 0; }
  /// See check_receive(); a receive that is taken fills a place of the queue until it is completed.
  Expected<void, Failure> post(const ibv_recv_wr& wr);
  /// How many take() would give. Nothing: they are those of an SRQ, which others take from as well and which
  /// is not counted (IBTA 9.7.7.2).
  std::optional<std::uint32_t> posted() const {
    return from_.srq == nullptr && domain_ == nullptr ? std::optional(queue_.size()) : std::nullopt;
  }
  /// Takes the oldest one off, to be flushed: its wr_id. Nothing: the queue is empty.
  std::optional<std::uint64_t> flush_next();
  /// RESET: what is posted there is forgotten.
  void clear();

  // ---- tag matching

  bool matches_tags() const;
  /// The SRQ, if it has tag matching.
  SharedReceiveQueue& srq() const { return *from_.srq; }
  /// What the receive is that was taken last, and which message has taken it.
  const TagMatch& match() const { return match_; }
  const TagMessage& message() const { return message_; }
  /// The endpoint has forgotten what was taken, which is over then: its wr_id. Nothing: none was.
  std::optional<std::uint64_t> cancel_taken() {
    return std::exchange(taken_out_, false) ? std::optional(taken_.wqe.wr_id) : std::nullopt;
  }

  // ---- XRC targets

  /// Receives come from the SRQ of this number from now on. Error: the domain has none, and all is as before.
  Expected<void, Reason> select(std::uint32_t number);
  /// By which keys the requests at hand go: those of the protection domain of that SRQ. nullptr: none.
  const ProtectionDomain* selected_pd() const;
  /// The SRQ is about to be destroyed. True: a receive of it was taken, and must not be completed.
  bool forget(const SharedReceiveQueue& srq);
  /// The same for all SRQs: select() finds none any more.
  bool leave_domain();

 private:
  struct From {
    SharedReceiveQueue* srq = nullptr;  ///< nullptr: queue_
    const ProtectionDomain* pd = nullptr;
    CompletionQueue* cq = nullptr;
  };
  static From from(SharedReceiveQueue& srq);
  bool give_up_taken();

  ReceiveQueue queue_;
  XrcDomain* domain_;                       ///< nullptr: it is no XRC target, or has left it
  SharedReceiveQueue* selected_ = nullptr;  ///< XRC target: of the request at hand
  From from_;
  bool taken_out_ = false;  ///< taken_ is at the endpoint
  TakenReceive taken_;
  TagMatch match_;
  TagMessage message_;
};

}  // namespace softrnic::rnic
