// The TCP streams of a lane's queue pairs (iWARP). Nearly no lane has any.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/qp_stream.h"
#include "engine/stream_ends.h"

namespace softrnic::engine {

/// Not thread-safe, except where it says otherwise: the lane's lock guards it.
class Streams {
 public:
  Streams() = default;
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  /// Outlive the streams.
  struct Options {
    StreamEnds* ends = nullptr;      ///< who hears of ends
    link::StreamTap* tap = nullptr;  ///< who sees what is sent and comes
    std::optional<link::FaultPlan> faults;
  };
  void set_options(const Options& options);

  /// See LanePort::add_stream().
  Expected<rnic::StreamPort*, Failure> add(rnic::QueuePair& qp, UniqueFd& socket,
                                           const rnic::StreamStart& start);
  void remove(rnic::StreamPort& stream);

  /// Whether some wait for a receive, which nobody announces.
  bool any_waiting() const { return around_.any_waiting.load(std::memory_order_relaxed); }
  /// Reads from those that something has come for, and calls touched(qp) for each; how often something came.
  /// arrived(): what has come for queue pairs whose messages do not go by their stream is handled first, as
  /// it was sent before.
  template <typename Arrived, typename Touched>
  std::size_t receive(TimePoint now, Arrived&& arrived, Touched&& touched) {
    if (any_waiting()) {
      std::erase_if(around_.waiting, [&](QpStream* stream) {
        const bool over = stream->goes_on(now);
        if (over) touched(stream->qp());
        return over;
      });
      around_.any_waiting.store(!around_.waiting.empty(), std::memory_order_relaxed);
    }
    if (QpStream* const stream = likely()) {
      const std::size_t reads = stream->happened(EPOLLIN, staging(), now);
      touched(stream->qp());
      if (reads != 0) return reads;
    }
    std::array<epoll_event, kAtOnce> events;
    const std::size_t count = wait(events);
    std::size_t reads = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto& stream = *static_cast<QpStream*>(events[i].data.ptr);
      if (!stream.carries_messages()) arrived();
      reads += stream.happened(events[i].events, staging(), now);
      touched(stream.qp());
      likely_ = count == 1 && reads != 0 && stream.carries_messages() ? &stream : nullptr;
    }
    return reads;
  }

  /// Whether streams have ended that nobody was told of; and tells.
  bool any_ended() const { return !around_.ended.empty(); }
  void tell_ends();
  /// When a stream that a fault has made stand still goes on, or kNever; calls touched(qp) for those that do.
  TimePoint stall_over() const {
    return around_.stalled.empty() ? kNever : around_.stalled.front()->stalled_until();
  }
  template <typename Touched>
  void go_on(TimePoint now, Touched&& touched) {
    while (stall_over() <= now) {
      touched(around_.stalled.front()->qp());
      around_.stalled.erase(around_.stalled.begin());
    }
  }
  /// When complete_delayed() is due, or kNever.
  TimePoint delayed_until() const {
    return around_.delays == nullptr ? kNever : around_.delays->delayed_until();
  }
  void complete_delayed() { std::exchange(around_.delays, nullptr)->complete_delayed(); }
  /// In a forked child: the descriptors are closed.
  void abandon();

  // ---- without the lock

  /// Readable when receive() would find something; -1: never.
  int readable_fd() const { return epoll_.load(std::memory_order_acquire); }
  /// The same for the engine thread, which makes its list of descriptors before it sleeps. Until it has asked
  /// since the first stream was made, unwatched() says so, and the lane wakes it.
  int fd_to_watch() {
    const int fd = readable_fd();
    if (fd >= 0) watched_.store(true, std::memory_order_release);
    return fd;
  }
  bool unwatched() const { return readable_fd() >= 0 && !watched_.load(std::memory_order_acquire); }
  bool readable() const { return readable_fd() >= 0 && any_readable(); }
  /// Those which are no lifelines, whose queue pairs' messages go through memory.
  std::size_t carrying_messages() const { return carrying_messages_.load(std::memory_order_relaxed); }

 private:
  using Map = std::unordered_map<rnic::StreamPort*, std::unique_ptr<QpStream>>;
  class Entry;
  static constexpr std::size_t kAtOnce = 64;
  static constexpr std::size_t kStagingBytes = 256 * 1024;
  static constexpr unsigned kMostGuesses = 4;  ///< turns of one stream before all are looked at again

  Expected<void, Failure> make_room();
  bool any_readable() const;
  QpStream* likely();
  std::size_t wait(std::span<epoll_event> events) const;
  MutableBytes staging() { return {staging_.get(), kStagingBytes}; }

  StreamEnds* ends_ = nullptr;
  Map streams_;
  StreamSurroundings around_;
  std::unique_ptr<std::byte[]> staging_;  ///< made with the first stream, and kept
  std::atomic<int> epoll_{-1};            ///< the same
  std::atomic<bool> watched_{false};
  std::atomic<std::uint32_t> carrying_messages_{0};
  QpStream* likely_ = nullptr;  ///< the only one that something had come for
  unsigned guesses_ = 0;
};

}  // namespace softrnic::engine
