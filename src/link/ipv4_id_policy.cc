#include "link/ipv4_id_policy.h"

#include <algorithm>

#include "base/bytes.h"

namespace softrnic::link {
namespace {

/// How far a count comes in some time; past all identifications it does not matter.
template <typename Unit>
std::uint32_t advance(std::uint32_t rate, Duration time) {
  const auto units = std::chrono::duration_cast<Unit>(time).count();
  return rate * static_cast<std::uint32_t>(std::clamp<std::int64_t>(units, 0, 0x10000));
}

/// Whether a count that was at `from` may be at `id` after having gone `reach` further at most.
bool near(std::uint16_t from, std::uint16_t id, std::uint32_t reach) {
  const auto ahead = static_cast<std::uint16_t>(id - from);
  const auto behind = static_cast<std::uint16_t>(from - id);
  return ahead <= reach || behind <= IdPolicy::kBackward;
}

}  // namespace

bool IdPolicy::accept(const wire::Gid& source, std::uint16_t id, const Arrival& arrival) {
  Peer& peer = peer_of(source);
  if (arrival.before - peer.heard > kForgotten && peer.habit != Habit::scattered) peer.habit = Habit::unknown;
  if (id < kSmallIds) {
    take_small(peer, id, arrival.before);
  } else if (!take_large(peer, id, arrival.before)) {
    return false;
  }
  peer.heard = arrival.after;
  return true;
}

bool IdPolicy::fits(const Peer& peer, std::uint16_t id, TimePoint before) {
  return near(peer.last, id,
              kForward + advance<std::chrono::microseconds>(kEachMicrosecond, before - peer.heard));
}

// A count passes here, too, but never stays or goes back.
void IdPolicy::take_small(Peer& peer, std::uint16_t id, TimePoint before) {
  if (peer.habit == Habit::zero_based || peer.habit == Habit::scattered) return;
  if (peer.habit == Habit::unknown || !fits(peer, id, before)) {
    peer.habit = Habit::small;
  } else if (id <= peer.last && peer.last < kSmallIds) {
    peer.habit = Habit::zero_based;
  }
  peer.last = id;
}

bool IdPolicy::take_large(Peer& peer, std::uint16_t id, TimePoint before) {
  if (peer.habit == Habit::scattered) return true;
  const bool free = peer.habit == Habit::unknown || peer.habit == Habit::small;
  const bool counted = peer.habit == Habit::counting && fits(peer, id, before);
  if (!free && !counted) return take_strange(peer, id, before);
  peer.habit = Habit::counting;
  peer.last = id;
  return true;
}

// Damage is not repeated, and hardly ever solves to any identification: what comes again is the peer's doing.
bool IdPolicy::take_strange(Peer& peer, std::uint16_t id, TimePoint before) {
  const Duration since = before - peer.strange_at;
  if (since > kStrange) peer.strange = 0;
  const std::uint32_t reach = kForward + advance<std::chrono::milliseconds>(kEachMillisecond, since);
  const bool agrees = peer.strange != 0 && id != peer.candidate && near(peer.candidate, id, reach);
  peer.strange_at = before;
  peer.candidate = id;
  if (peer.strange < kMostStrange) ++peer.strange;
  if (agrees) {
    peer.habit = Habit::counting;
    peer.last = id;
    return true;
  }
  if (peer.strange < kMostStrange) return false;
  peer.habit = Habit::scattered;
  return true;
}

bool IdPolicy::is_zero_based(const wire::Gid& source) const {
  const Peer& peer = peers_[place_of(source)];
  return peer.source == source && peer.habit == Habit::zero_based;
}

std::uint16_t IdPolicy::expected(const wire::Gid& source, std::uint16_t position) const {
  const Peer& peer = peers_[place_of(source)];
  const bool counts = peer.source == source && peer.habit == Habit::counting;
  return counts ? static_cast<std::uint16_t>(peer.last + 1) : position;
}

IdPolicy::Peer& IdPolicy::peer_of(const wire::Gid& source) {
  Peer& peer = peers_[place_of(source)];
  if (peer.source != source) {
    peer = Peer{};
    peer.source = source;
  }
  return peer;
}

std::size_t IdPolicy::place_of(const wire::Gid& source) {
  // The last bytes vary most: as the low end of a number they reach every bit of the product.
  const std::uint64_t mixed = (load_be64(source.raw.data()) * 0x9e3779b97f4a7c15U) ^
                              (load_be64(source.raw.data() + 8) * 0xc2b2ae3d27d4eb4fU);
  return (mixed >> 40) % kPeers;
}

}  // namespace softrnic::link
