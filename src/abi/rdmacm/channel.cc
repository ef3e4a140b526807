#include "abi/rdmacm/channel.h"

#include <cerrno>

#include "abi/calls.h"
#include "abi/export.h"
#include "base/reason_id.h"

namespace softrnic::rdmacm {

Expected<std::shared_ptr<EventSource>, Failure> EventSource::open(std::shared_ptr<Session> session) {
  auto source = std::make_shared<EventSource>(std::move(session));  // which undoes by itself what was done
  if (!source->count_.valid()) return rnic::refused(errno, ReasonId::out_of_fds, errno);
  const auto number = source->session_->heard(source->session_->daemon.open_channel(source->count_));
  if (!number) return Unexpected{number.error()};
  source->number_ = *number;
  channel_counts().add(source->count_);
  return source;
}

EventSource::~EventSource() { close(); }

void EventSource::close() {
  if (closed_.exchange(true) || number_ == 0) return;
  channel_counts().remove(count_);
  // Nobody can be told of a failure, and none does harm: the daemon forgets channels with their process.
  static_cast<void>(session_->daemon.close_channel(number_));
}

class EventSource::Fetch {
 public:
  explicit Fetch(EventSource& source) : source_(source) {
    const std::lock_guard lock(source_.mutex_);
    ++source_.fetching_;
    source_.fetcher_ = std::this_thread::get_id();
  }
  ~Fetch() {
    const std::lock_guard lock(source_.mutex_);
    --source_.fetching_;
    ++source_.fetches_;
    source_.settled_.notify_all();
  }
  Fetch(const Fetch&) = delete;
  Fetch& operator=(const Fetch&) = delete;

 private:
  EventSource& source_;
};

void EventSource::settle() {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [this] { return fetching_ == 0; });
}

bool EventSource::others_fetch() {
  const std::lock_guard lock(mutex_);
  return fetcher_ != std::thread::id() && fetcher_ != std::this_thread::get_id();
}

std::uint32_t EventSource::fetches() {
  const std::lock_guard lock(mutex_);
  return fetches_;
}

bool EventSource::await_fetch(std::uint32_t seen, std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  return settled_.wait_until(lock, until, [&] { return fetches_ != seen; });
}

Expected<control::CmEventReply, Failure> EventSource::next(const Credit& credit, UniqueFd& socket) {
  for (;;) {
    if (const auto usable = session_->check(); !usable) return Unexpected{usable.error()};
    if (const int error = count_.wait()) return Unexpected{Failure{error, {}}};
    if (closed_) continue;
    const Fetch fetch(*this);
    auto event = session_->daemon.next_event(number_, &socket);
    if (!event && closed_) continue;
    // A count without an event: the id was destroyed or has moved to another channel in between.
    if (event && event->present == 0) continue;
    if (event) credit(*event);
    return session_->heard(std::move(event));
  }
}

Channel::Channel(std::shared_ptr<EventSource> events)
    : rdma_event_channel{events->fd()}, events_(std::move(events)) {}

Expected<std::unique_ptr<Channel>, Failure> Channel::open(std::shared_ptr<Session> session) {
  auto events = EventSource::open(std::move(session));
  if (!events) return Unexpected{events.error()};
  return std::unique_ptr<Channel>(new Channel(std::move(*events)));
}

Channel::~Channel() { events_->close(); }

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
