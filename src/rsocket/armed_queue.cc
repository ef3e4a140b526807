#include "rsocket/armed_queue.h"

#include <fcntl.h>
#include <poll.h>

namespace softrnic::rsocket {

Result<void> ArmedQueue::make(ibv_context* device, int entries) {
  channel_.reset(ibv_create_comp_channel(device));
  if (channel_ == nullptr || fcntl(channel_->fd, F_SETFL, O_NONBLOCK) != 0) return fail_errno();
  queue_.reset(ibv_create_cq(device, entries, nullptr, channel_.get(), 0));
  if (queue_ == nullptr) return fail_errno();
  return {};
}

bool ArmedQueue::arm() {
  if (armed_) return false;
  armed_ = ibv_req_notify_cq(queue_.get(), 0) == 0;
  return armed_;
}

void ArmedQueue::take_event() {
  pollfd channel{channel_->fd, POLLIN, 0};
  if (!armed_ || poll(&channel, 1, 0) < 1) return;  // it has not come, or another thread has taken it
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel_.get(), &queue, &context) != 0) return;
  ibv_ack_cq_events(queue, 1);
  armed_ = false;
}

}  // namespace softrnic::rsocket
