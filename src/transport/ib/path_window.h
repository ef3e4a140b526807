// How much may be in flight to one receiver.
//
// UDP has no back-pressure: what the receiver's socket buffer cannot hold is lost. All QPs of a lane that
// send to the same peer lane (destination GID, top byte of the QPN) therefore share one window. Acknowledged
// services (RC, reads included) go by its CongestionWindow. UC and UD hear nothing from their peer: where
// something is known of the receiver's buffer (a Gauge), they take only what is free there, else they keep to
// the rate of a Pacer. Pure: time is given.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "transport/ib/congestion_window.h"
#include "transport/ib/gauge.h"
#include "transport/ib/pacer.h"

namespace softrnic::ib {

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
  bool has_room() const { return !held_ && !undecided_ && congestion_.has_room(); }
  /// Whether a message that is longer than room() should go on, see CongestionWindow::silly_below().
  bool has_much_room() const { return has_room() && (in_flight() == 0 || room() >= silly_below()); }
  /// Memory has no datagrams to save.
  std::uint32_t silly_below() const { return has_mtu_ ? congestion_.silly_below() : 1; }
  std::uint32_t room() const { return held_ || undecided_ ? 0 : congestion_.room(); }
  /// Keeps requests back (no room) while it is others' turn: the scheduler lets an
  /// endpoint answer its peer only.
  void hold(bool held) { held_ = held; }

  /// The path has no MTU: a packet may carry so many bytes (see TxPacket), and `window` bytes, which never
  /// are too many, may be in flight. 0 and 0: it is a network.
  void set_memory(std::uint32_t longest_packet, std::uint32_t window);
  /// How many packets of the path MTU one may stand for; on a network no more than go into the window.
  std::uint32_t packets_at_once(std::uint32_t path_mtu) const {
    const std::uint32_t longest = has_mtu_ ? std::min(longest_packet_, congestion_.room()) : longest_packet_;
    return std::max(longest / path_mtu, 1U);
  }
  /// False: set_memory() has said so.
  bool has_mtu() const { return has_mtu_; }
  /// Which way packets take is not known yet: none may go.
  void set_undecided(bool undecided) { undecided_ = undecided; }
  bool undecided() const { return undecided_; }

  /// Leads to this host.
  void set_local(bool local) { local_ = local; }
  bool local() const { return local_; }

  /// What the scheduler of the lane notes of the path. The window does not look at it.
  struct SchedulerHook {
    static constexpr std::uint32_t kNoLine = ~std::uint32_t{0};
    std::uint32_t line = kNoLine;  ///< where queue pairs wait for this window
    bool waited_for = false;       ///< by some of them
  };
  SchedulerHook& hook() { return hook_; }
  const SchedulerHook& hook() const { return hook_; }

  /// See CongestionWindow.
  void sent(std::uint32_t bytes) { congestion_.sent(bytes); }
  void acknowledged(std::uint32_t bytes) { congestion_.acknowledged(bytes); }
  void forgotten(std::uint32_t bytes) { congestion_.forgotten(bytes); }
  void lost(TimePoint now) { congestion_.lost(now); }
  std::uint32_t in_flight() const { return congestion_.in_flight(); }
  std::uint32_t window() const { return congestion_.window(); }

  /// How soon a full receiver is looked at again.
  static constexpr Duration kLookAgain = std::chrono::microseconds(50);
  static constexpr Duration kPatience = GaugedRoom::kPatience;

  /// From now on UC and UD go by this gauge, which outlives the window; nullptr: by the Pacer.
  void observe(Gauge* gauge) { gauged_.observe(gauge); }
  /// Whether a packet of UC or UD may go.
  struct Admission {
    TimePoint when;        ///< it may go, or may be asked for again
    bool granted = false;  ///< it may go then, and is not to be asked for again
  };
  /// For a packet of `bytes`.
  Admission admit(std::uint32_t bytes, TimePoint now);

  /// For tests: what of its promises to itself does not hold; nullptr: all does.
  const char* broken_invariant() const;

 private:
  Limits network_;
  CongestionWindow congestion_;
  Pacer pacer_;
  GaugedRoom gauged_;
  std::uint32_t longest_packet_;
  bool held_ = false;
  bool undecided_ = false;
  bool has_mtu_ = true;
  bool local_ = false;
  SchedulerHook hook_;
};

}  // namespace softrnic::ib
