// A shared receive queue: receives for any of several QPs (IBTA 10.2.9). That of XRC has a number, by which
// requests name it, and a completion queue (A14). That of tag matching has a completion queue and, besides
// receives, tagged buffers (tag_matching.h).
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <optional>

#include "base/expected.h"
#include "base/held_across_fork.h"
#include "base/quick_mutex.h"
#include "base/reason.h"
#include "rnic/object.h"
#include "rnic/receive_queue.h"
#include "rnic/tag_matching.h"

namespace softrnic::rnic {

class CompletionQueue;
class Context;
class ProtectionDomain;

/// Thread-safe. Its lock comes after those of lanes and before those of CQs.
class SharedReceiveQueue : public EventTarget {
 public:
  /// Rounds the size up to a power of two and returns what was made in `attributes`. EINVAL: beyond the
  /// limits; ENOMEM.
  static Expected<std::unique_ptr<SharedReceiveQueue>, Failure> create(ProtectionDomain& pd,
                                                                       ibv_srq_attr& attributes);
  /// The same for XRC, with a number that no other has in this process. It has to be added to a domain, and
  /// taken off it again before destroy(). `cq` is of the context of `pd`, else EINVAL.
  static Expected<std::unique_ptr<SharedReceiveQueue>, Failure> create(ProtectionDomain& pd,
                                                                       CompletionQueue& cq,
                                                                       ibv_srq_attr& attributes);
  /// The same for tag matching. `cq` as above; EINVAL: no tags or operations, or beyond the limits.
  static Expected<std::unique_ptr<SharedReceiveQueue>, Failure> create(ProtectionDomain& pd,
                                                                       CompletionQueue& cq,
                                                                       ibv_srq_attr& attributes,
                                                                       const ibv_tm_cap& cap);
  /// EBUSY while QPs use it. Waits for acknowledgement of its events. Delete the object afterwards.
  Expected<void, Failure> destroy();

  /// ibv_modify_srq. EINVAL: fewer requests than are posted, limit above the size, unknown bits.
  Expected<void, Failure> modify(const ibv_srq_attr& attributes, int mask);
  ibv_srq_attr query() const;

  /// ibv_post_srq_recv: everything before `*bad_wr` is posted. ENOMEM: full; EINVAL: too many SGEs.
  Expected<void, Failure> post(ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

  /// Takes the next receive; raises SRQ_LIMIT_REACHED (once) when fewer than the limit are
  /// left. False: none is posted.
  bool take(TakenReceive& out);

  /// Whose keys its receives use.
  const ProtectionDomain& pd() const;
  CompletionQueue* cq() const { return cq_; }               ///< XRC and tag matching, else nullptr
  std::uint32_t srq_number() const { return srq_number_; }  ///< XRC: 24 bits, else 0
  UseCount uses;

  // ---- tag matching: shared_receive_queue_tags.cc
  bool matches_tags() const { return tags_ != nullptr; }
  /// ibv_post_srq_ops: everything before `*bad_wr` is done. Completions are in the queue when it returns.
  /// EINVAL, ENOMEM: see TagMatching::execute(); without tag matching; a list longer than max_ops (ENOMEM).
  Expected<void, Failure> post_operations(ibv_ops_wr* wr, ibv_ops_wr** bad_wr);
  /// Takes what a message is for: a tagged buffer, or the next receive as take() does. Nothing: that is not
  /// posted. `reads`: its queue pair may send READs.
  std::optional<TagMatch> take(const TagMessage& message, bool reads, TakenReceive& out);
  /// What a message has taken has ended. Whether its completion is to ask for IBV_WR_TAG_SYNC.
  bool ended(const TagMatch& match, bool success);
  void release(TagEntry& entry);
  /// Completes what a queue pair has taken and will not finish, as it is reset or destroyed: outside of its
  /// lane's batches, after what its lane has to publish.
  void flush(const ibv_wc& wc);

 private:
  explicit SharedReceiveQueue(ProtectionDomain& pd);
  ReceiveQueue::Memory memory() const;
  std::uint32_t max_sges();
  bool take_next(TakenReceive& out);

  ProtectionDomain& pd_;
  CompletionQueue* cq_ = nullptr;
  std::uint32_t srq_number_ = 0;
  mutable QuickMutex mutex_;
  const HeldAcrossFork held_{mutex_, HeldAcrossFork::Rank::shared_receive_queue};
  ReceiveQueue queue_;
  std::uint32_t limit_ = 0;            ///< 0: not armed
  std::unique_ptr<TagMatching> tags_;  ///< nullptr: it has none
};

}  // namespace softrnic::rnic
