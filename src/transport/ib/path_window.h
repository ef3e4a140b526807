// How much may be under way to one receiver.
//
// UDP has no back-pressure: what the receiver's socket buffer cannot hold is lost. All QPs of a lane that
// send to the same peer lane (destination GID, top byte of the QPN) therefore share one window. For
// acknowledged services (RC, reads included) it counts bytes in flight: additive increase, halved on loss. UC
// and UD hear nothing from their peer: where something is known of the receiver's buffer (a Gauge), they take
// only what is free there, else they take tokens from a bucket. Pure: time is given.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace softrnic::ib {

/// Looks at the buffer that the packets of a path arrive in.
class Gauge {
 public:
  /// Bytes of the buffer that this sender may fill now. A datagram costs datagram_cost().
  virtual std::uint32_t room(TimePoint now) = 0;
  /// False: nothing is known of that buffer, and senders keep to a rate.
  virtual bool knows(TimePoint now) {
    static_cast<void>(now);
    return true;
  }

 protected:
  ~Gauge() = default;
};

/// The most that a datagram of `bytes` takes of a socket's receive buffer: the kernel counts
/// the memory, not the bytes.
constexpr std::uint32_t datagram_cost(std::uint32_t bytes) { return 2 * bytes + 1024; }

class PathWindow {
 public:
  struct Limits {
    std::uint32_t initial_bytes = 128 * 1024;
    std::uint32_t minimum_bytes = 16 * 1024;
    std::uint32_t maximum_bytes = 512 * 1024;
    std::uint32_t longest_packet = 0;  ///< bytes that a packet may carry, see TxPacket; 0: the path MTU
    std::uint64_t unacked_bytes_per_second = 500'000'000;  ///< UC and UD: 8 MB of buffer last 16 ms
    std::uint32_t unacked_burst_bytes = 96 * 1024;
  };

  PathWindow() : PathWindow(Limits{}) {}
  explicit PathWindow(const Limits& limits);

  /// Whether a packet of an acknowledged service may go now. One packet may always go when nothing is in
  /// flight.
  bool has_room() const { return !held_ && !undecided_ && (in_flight_ == 0 || in_flight_ < window_); }
  /// Whether a message that is longer than room() should go on: in small pieces it would cost more datagrams,
  /// and so would their ACKs (what RFC 9293, 3.8.6.2 says of TCP's windows).
  bool has_much_room() const { return has_room() && (in_flight_ == 0 || room() >= much_room()); }
  std::uint32_t much_room() const { return has_mtu_ ? window_ / kParts : 1; }
  std::uint32_t room() const {
    return held_ || undecided_ || in_flight_ >= window_ ? 0 : window_ - in_flight_;
  }
  /// Keeps requests back (no room) while it is others' turn: the scheduler lets an
  /// endpoint answer its peer only.
  void hold(bool held) { held_ = held; }

  /// The path has no MTU: a packet may carry so many bytes (see TxPacket), and `window` bytes, which never
  /// are too many, may be in flight. 0 and 0: it is a network.
  void set_memory(std::uint32_t longest_packet, std::uint32_t window);
  /// How many packets of the path MTU one may stand for; on a network no more than go into the window.
  std::uint32_t packets_at_once(std::uint32_t path_mtu) const {
    const std::uint32_t longest =
        has_mtu_ ? std::min(limits_.longest_packet, window_ - std::min(window_, in_flight_))
                 : limits_.longest_packet;
    return std::max(longest / path_mtu, 1U);
  }
  /// False: set_memory() has said so.
  bool has_mtu() const { return has_mtu_; }
  /// Which way packets take is not known yet: none may go.
  void set_undecided(bool undecided) { undecided_ = undecided; }
  bool undecided() const { return undecided_; }

  void sent(std::uint32_t bytes) { in_flight_ += bytes; }
  /// `bytes` were acknowledged: they leave the window, and it may grow.
  void acknowledged(std::uint32_t bytes);
  /// `bytes` are given up (flush, go-back): they leave the window.
  void forgotten(std::uint32_t bytes);
  /// A loss was seen at `now`; halves the window at most once a round.
  void lost(TimePoint now);

  /// How soon a full receiver is looked at again.
  static constexpr Duration kLookAgain = std::chrono::microseconds(50);
  /// A receiver that takes nothing for so long is stopped or dead: what is sent to it may be lost.
  static constexpr Duration kPatience = std::chrono::seconds(1);

  /// From now on UC and UD go by this gauge, which outlives the window.
  void observe(Gauge& gauge) { gauge_ = &gauge; }
  /// UC and UD: returns `now` when a packet of `bytes` may go, or when to try again (a
  /// time point after `now`).
  TimePoint admit(std::uint32_t bytes, TimePoint now);

  std::uint32_t in_flight() const { return in_flight_; }
  std::uint32_t window() const { return window_; }

 private:
  static constexpr std::uint32_t kParts = 8;  ///< of a window; one is much

  TimePoint take_tokens(std::uint32_t bytes, TimePoint now);
  bool take_room(std::uint32_t bytes, TimePoint now);

  Limits network_;
  Limits limits_;
  std::uint32_t window_;
  std::uint32_t in_flight_ = 0;
  bool held_ = false;
  bool undecided_ = false;
  bool has_mtu_ = true;
  std::uint32_t grown_ = 0;  ///< bytes acknowledged since the last increase
  TimePoint last_cut_{};
  std::int64_t tokens_ = 0;
  TimePoint refilled_{};
  Gauge* gauge_ = nullptr;
  std::uint32_t room_ = 0;         ///< left of what the gauge said
  TimePoint full_since_ = kNever;  ///< when the gauge first refused; kNever: it did not
};

}  // namespace softrnic::ib
