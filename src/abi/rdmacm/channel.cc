#include "abi/rdmacm/channel.h"

#include <cerrno>

#include "abi/calls.h"
#include "abi/export.h"

namespace softrnic::rdmacm {

Expected<std::unique_ptr<Channel>, Failure> Channel::open(std::shared_ptr<Session> session) {
  std::unique_ptr<Channel> channel(new Channel(std::move(session)));
  if (!channel->events_.valid()) return rnic::refused(errno, ReasonId::out_of_fds, errno);
  channel->fd = channel->events_.fd();
  const auto number = channel->session_->heard(channel->session_->daemon.open_channel(channel->fd));
  if (!number) return Unexpected{number.error()};
  channel->number_ = *number;
  channel->open_ = true;
  channel_counts().add(channel->events_);
  return channel;
}

Channel::~Channel() {
  channel_counts().remove(events_);
  // Nobody can be told of a failure, and none does harm: the daemon forgets channels with their process.
  if (open_) static_cast<void>(session_->daemon.close_channel(number_));
}

Expected<control::CmEventReply, Failure> Channel::next() {
  for (;;) {
    if (const auto usable = session_->check(); !usable) return Unexpected{usable.error()};
    if (const int error = events_.wait()) return Unexpected{Failure{error, {}}};
    auto event = session_->heard(session_->daemon.next_event(number_));
    // A count without an event: the id was destroyed or has moved to another channel in between.
    if (!event || event->present != 0) return event;
  }
}

}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT rdma_event_channel* rdma_create_event_channel(void) {
  return abi::pointer_call([]() -> Expected<rdma_event_channel*, Failure> {
    auto session = current_session();
    if (!session) return Unexpected{session.error()};
    auto channel = Channel::open(std::move(*session));
    if (!channel) return Unexpected{channel.error()};
    return channel->release();
  });
}

SOFTRNIC_EXPORT void rdma_destroy_event_channel(rdma_event_channel* channel) {
  if (channel != nullptr) delete Channel::of(channel);
}
