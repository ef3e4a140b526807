// An event channel: a count of events that programs poll, and its number at the daemon.
//
// Programs destroy a channel while another thread of theirs waits for its next event, and then end the
// process (rping). The kernel leaves such a thread waiting, on a file that nobody else has. So what a waiting
// thread needs outlives the channel.
#pragma once

#include <rdma/rdma_cma.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "abi/rdmacm/session.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"
#include "rnic/event_count.h"

namespace softrnic::rdmacm {

/// The events of a channel. Thread-safe.
class EventSource {
 public:
  static Expected<std::shared_ptr<EventSource>, Failure> open(std::shared_ptr<Session> session);
  explicit EventSource(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  ~EventSource();
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;

  /// No event comes any more; who waits for one goes on to. The destructor does it too.
  void close();
  /// Waits for the next event, unless the program has set O_NONBLOCK. EAGAIN, or EINTR. `credit` is called
  /// with the event before settle() returns in any thread that destroys the event's id.
  using Credit = std::function<void(const control::CmEventReply&)>;
  /// `socket`: of the stream that comes with it.
  Expected<control::CmEventReply, Failure> next(const Credit& credit, UniqueFd& socket);
  /// Waits until every event that the daemon has handed over was credited. Of a channel that was
  /// closed, or lost its daemon.
  void settle();

  // Programs poll the channel in one thread and destroy ids in another. A thread that was woken by an event
  // which is dropped with its id would wait in rdma_get_cm_event without end (rping since rdma-core 59).

  /// Whether another thread than the caller fetches events.
  bool others_fetch();
  /// How many have been fetched; wraps.
  std::uint32_t fetches();
  /// Waits until there are others than `seen`. False: not by then.
  bool await_fetch(std::uint32_t seen, std::chrono::steady_clock::time_point until);

  const std::shared_ptr<Session>& session() const { return session_; }
  std::uint32_t number() const { return number_; }
  int fd() const { return count_.fd(); }

 private:
  class Fetch;

  const std::shared_ptr<Session> session_;
  rnic::EventCount count_;
  std::uint32_t number_ = 0;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  std::condition_variable settled_;
  std::uint32_t fetching_ = 0;  ///< threads that may have an event which is not credited yet
  std::uint32_t fetches_ = 0;
  std::thread::id fetcher_;  ///< the last that fetched
};

class Channel : public rdma_event_channel {
 public:
  static Expected<std::unique_ptr<Channel>, Failure> open(std::shared_ptr<Session> session);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  static Channel* of(rdma_event_channel* channel) { return static_cast<Channel*>(channel); }

  std::uint32_t number() const { return events_->number(); }
  const std::shared_ptr<Session>& shared_session() const { return events_->session(); }
  /// To wait, keep a copy.
  const std::shared_ptr<EventSource>& events() const { return events_; }

 private:
  explicit Channel(std::shared_ptr<EventSource> events);

  const std::shared_ptr<EventSource> events_;
};

}  // namespace softrnic::rdmacm
