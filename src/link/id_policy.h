// Which IPv4 identifications are believed of a peer.
//
// The ICRC covers the identification, which a UDP socket cannot see. A receiver that accepts any
// identification that makes the ICRC right checks only 16 of its 32 bits. So each peer (source address) is
// held to a habit:
//   zero-based   senders like this one: identification 0 (DF set, RFC 6864 4.1), or 0, 1, 2 … in a segmented
//   batch; counting     senders that count their packets (the kernel's soft driver, hardware): near the last
//   one seen.
// A new habit, or a jump of the count, is believed when a second packet agrees with it.
#pragma once

#include <array>
#include <cstdint>

#include "wire/gid.h"

namespace softrnic::link {

class IdPolicy {
 public:
  static constexpr std::uint16_t kZeroBasedIds = 128;  ///< no batch has more segments
  static constexpr std::uint16_t kForward = 2048;      ///< how far a count may run ahead between two packets
  static constexpr std::uint16_t kBackward = 256;      ///< how late a packet may be

  /// Whether a packet from `source` whose ICRC is right for `id` is believed. Remembers it.
  bool accept(const wire::Gid& source, std::uint16_t id);
  /// Whether it is known that accept() believes this source all identifications below kZeroBasedIds.
  bool is_zero_based(const wire::Gid& source) const;
  /// The identification to try first for a packet that is not in a batch.
  std::uint16_t expected(const wire::Gid& source) const;

 private:
  enum class Habit : std::uint8_t { unknown, zero_based, counting };
  struct Peer {
    wire::Gid source;
    Habit habit = Habit::unknown;
    bool has_candidate = false;
    std::uint16_t last = 0;
    std::uint16_t candidate = 0;
  };
  static constexpr std::size_t kPeers = 1024;  ///< a cache: peers that share a place learn anew

  static bool near(std::uint16_t from, std::uint16_t id);
  Peer& peer_of(const wire::Gid& source);
  static std::size_t place_of(const wire::Gid& source);

  std::array<Peer, kPeers> peers_{};
};

}  // namespace softrnic::link
