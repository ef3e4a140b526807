// A shared receive queue: receives for any of several QPs (IBTA 10.2.9). That of XRC has a number, by which
// requests name it, and a completion queue (A14).
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "base/expected.h"
#include "base/held_across_fork.h"
#include "base/quick_mutex.h"
#include "base/reason.h"
#include "rnic/object.h"
#include "rnic/receive_queue.h"

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
  CompletionQueue* cq() const { return cq_; }               ///< XRC, else nullptr
  std::uint32_t srq_number() const { return srq_number_; }  ///< XRC: 24 bits, else 0
  UseCount uses;

 private:
  explicit SharedReceiveQueue(ProtectionDomain& pd);
  ReceiveQueue::Memory memory() const;
  std::uint32_t max_sges();

  ProtectionDomain& pd_;
  CompletionQueue* cq_ = nullptr;
  std::uint32_t srq_number_ = 0;
  mutable QuickMutex mutex_;
  const HeldAcrossFork held_{mutex_, HeldAcrossFork::Rank::shared_receive_queue};
  ReceiveQueue queue_;
  std::uint32_t limit_ = 0;  ///< 0: not armed
};

}  // namespace softrnic::rnic
