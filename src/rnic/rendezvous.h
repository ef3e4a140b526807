// The messages in rendezvous of one queue pair: its adapter READs their payload into the tagged buffers that
// they have matched, and then tells the peer by a FIN.
//
// READ and FIN are work requests like the program's, behind those that it has posted, in places of the send
// queue that are not the program's. Each message fills two; the others wait, in the entries of the matching
// list, which bounds them.
#pragma once

#include <cstdint>

#include "rnic/tag_list.h"
#include "transport/ib/endpoint.h"

namespace softrnic::rnic {

/// Guarded by the lane's lock.
class Rendezvous {
 public:
  /// Places of the send queue that it needs besides the program's.
  static constexpr std::uint32_t kSendWqes = 32;

  /// A message has taken this entry, which is lent until a call below gives it back.
  void add(TagEntry& entry) { waiting_.push(entry); }
  /// Posts what waits, as far as there is room. The queue pair is in RTS.
  void post(ib::Endpoint& endpoint);
  /// A work request of its own has ended. The entry whose READ it was; nullptr: it was a FIN.
  TagEntry* ended(ib::SendOp op);
  /// Gives back the next entry that waits; nullptr: none.
  TagEntry* cancel_waiting() { return waiting_.pop(); }
  /// The endpoint has forgotten what was posted, or is gone. Gives back the next entry; nullptr: none is
  /// left.
  TagEntry* forget();

  /// Places that its work requests fill.
  std::uint32_t posted() const { return posted_; }

 private:
  class Fifo {
   public:
    void push(TagEntry& entry);
    TagEntry* pop();
    bool empty() const { return head_ == nullptr; }

   private:
    TagEntry* head_ = nullptr;
    TagEntry* tail_ = nullptr;
  };

  Fifo waiting_;
  Fifo reading_;  ///< their READs are posted, in this order
  std::uint32_t posted_ = 0;
};

}  // namespace softrnic::rnic
