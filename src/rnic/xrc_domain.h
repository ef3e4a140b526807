// An XRC domain: which shared receive queues the requests of a target QP may name (IBTA A14).
//
// A domain is of one process, though the file that stands for it may be open in others as well: receives
// and memory of another process cannot be reached from here. What names an SRQ of another process finds
// none, and is refused.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/held_across_fork.h"
#include "base/quick_mutex.h"

namespace softrnic::rnic {

class QueuePair;
class SharedReceiveQueue;

class XrcDomain {
 public:
  XrcDomain() = default;
  XrcDomain(const XrcDomain&) = delete;
  XrcDomain& operator=(const XrcDomain&) = delete;

  // ---- by one thread at a time, which holds the lock of no lane

  /// From now on requests may name it. Its completions come from all target QPs of the domain.
  void add(SharedReceiveQueue& srq);
  /// When it returns, no target QP has anything of it at hand: a message that had taken one of its receives
  /// will not be completed.
  void remove(SharedReceiveQueue& srq);
  void add(QueuePair& target);
  /// From now on all that comes for it is refused.
  void remove(QueuePair& target);
  bool in_use() const { return !targets_.empty() || !srqs_.empty(); }

  // ---- by any thread; the lock comes after those of lanes, before those of SRQs

  /// nullptr: it has none of this number. A target QP may hold on to it as long as it holds its lane's lock,
  /// and until it is told otherwise (QueuePair::forget).
  SharedReceiveQueue* find(std::uint32_t number) const;

 private:
  std::vector<QueuePair*> targets_;
  mutable QuickMutex mutex_;  ///< guards srqs_
  const HeldAcrossFork held_{mutex_, HeldAcrossFork::Rank::xrc_domain};
  std::unordered_map<std::uint32_t, SharedReceiveQueue*> srqs_;
};

}  // namespace softrnic::rnic
