// A completion queue whose first completion, once it is armed, wakes those that sleep on its descriptor.
#pragma once

#include "rsocket/rdma_owners.h"
#include "rsocket/result.h"

namespace softrnic::rsocket {

class ArmedQueue {
 public:
  /// Once. As the verbs.
  Result<void> make(ibv_context* device, int entries);

  ibv_cq* get() const { return queue_.get(); }
  int descriptor() const { return channel_->fd; }
  /// True: it was not armed.
  bool arm();
  bool armed() const { return armed_; }
  /// After a sleep: takes the event, if it has come.
  void take_event();

 private:
  CompletionChannelPtr channel_;
  CompletionQueuePtr queue_;
  bool armed_ = false;
};

}  // namespace softrnic::rsocket
