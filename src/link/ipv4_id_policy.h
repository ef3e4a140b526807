// Which IPv4 identifications are believed of a peer.
//
// The ICRC covers the identification, which a UDP socket cannot see: it is solved for, and where any would
// do, only 16 of the 32 bits are checked. So each peer (source address) is held to what it has done so far:
//   zero_based  sends 0 (DF set, RFC 6864 4.1), or 0, 1, 2 … in a segmented batch, as this adapter does
//   counting    counts its packets. The Linux kernel has a count for each pair of addresses, shares it among
//               those of one
//               hash, begins anywhere, and adds a random part of the time in which the count was not used. So
//               how far it
//               may have come grows with the time since the last packet, up to all identifications
//   scattered   neither: any is believed
// The first packet of a peer, or after a long silence, is believed whatever it has, and small identifications
// always are: so nothing is refused of a peer that goes on doing what it does, and nothing that one process
// learns would save another one a packet. Of a peer that changes its ways, one is refused.
//
// The ICRC keeps out damage, not forgery: who forges a packet can compute the ICRC, too. All that forged
// packets can do here is to have up to three packets of the peer refused, and then to make it look scattered.
//
// A damaged packet passes with a probability of 2^-25 when its peer is known to be zero_based, 2^-20
// when it counts and has just been heard, and 2^-16 when it counts and was silent for four
// milliseconds, is new, or scattered.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "wire/gid.h"

namespace softrnic::link {

class IdPolicy {
 public:
  static constexpr std::uint16_t kSmallIds = 128;  ///< no batch has more segments
  static constexpr std::uint32_t kForward = 2048;  ///< how far a count may run ahead between two packets
  static constexpr std::uint32_t kEachMicrosecond =
      16;                                          ///< and for each between them: 10 Gb/s of short packets
  static constexpr std::uint32_t kBackward = 256;  ///< how late a packet may be
  static constexpr Duration kForgotten =
      std::chrono::seconds(10);                ///< of silence: it may be another adapter now
  static constexpr unsigned kMostStrange = 4;  ///< that do not fit, each within kStrange of the one before
  static constexpr Duration kStrange = std::chrono::seconds(60);
  /// How far a count without other traffic runs ahead: HZ is 1000
  static constexpr std::uint32_t kEachMillisecond = 2;

  /// When a packet came: not before `after`, and not after `before`.
  struct Arrival {
    TimePoint after;
    TimePoint before;
  };

  /// Whether a packet from `source` whose ICRC is right for `id` is believed. Remembers it.
  bool accept(const wire::Gid& source, std::uint16_t id, const Arrival& arrival);
  /// Whether `source` was zero_based when it was heard last.
  bool is_zero_based(const wire::Gid& source) const;
  /// The identification to try first for a packet that is number `position` of its datagram.
  std::uint16_t expected(const wire::Gid& source, std::uint16_t position) const;

 private:
  enum class Habit : std::uint8_t { unknown, small, zero_based, counting, scattered };
  struct Peer {
    wire::Gid source;
    Habit habit = Habit::unknown;  ///< small: zero_based, or counts and happens to be there
    std::uint8_t strange = 0;      ///< how many that did not fit came lately
    std::uint16_t last = 0;
    std::uint16_t candidate = 0;  ///< the last one that did not fit
    TimePoint heard{};            ///< the last one that was believed did not come before
    TimePoint strange_at{};
  };
  static constexpr std::size_t kPeers = 1024;  ///< a cache: peers that share a place learn anew

  static bool fits(const Peer& peer, std::uint16_t id, TimePoint before);
  static void take_small(Peer& peer, std::uint16_t id, TimePoint before);
  static bool take_large(Peer& peer, std::uint16_t id, TimePoint before);
  static bool take_strange(Peer& peer, std::uint16_t id, TimePoint before);
  Peer& peer_of(const wire::Gid& source);
  static std::size_t place_of(const wire::Gid& source);

  std::array<Peer, kPeers> peers_{};
};

}  // namespace softrnic::link
