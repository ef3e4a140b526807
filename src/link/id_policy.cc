#include "link/id_policy.h"

#include "base/bytes.h"

namespace softrnic::link {

bool IdPolicy::accept(const wire::Gid& source, std::uint16_t id) {
  Peer& peer = peer_of(source);
  const bool small = id < kZeroBasedIds;
  if (peer.habit == Habit::unknown && small) peer.habit = Habit::zero_based;
  if (peer.habit == Habit::zero_based && small) return true;
  if (peer.habit == Habit::counting && (id == 0 || near(peer.last, id))) {
    if (id != 0) peer.last = id;
    peer.has_candidate = false;
    return true;
  }
  if (peer.has_candidate && id != peer.candidate && near(peer.candidate, id)) {
    peer.habit = Habit::counting;
    peer.last = id;
    peer.has_candidate = false;
    return true;
  }
  peer.has_candidate = true;
  peer.candidate = id;
  return false;
}

bool IdPolicy::is_zero_based(const wire::Gid& source) const {
  const Peer& peer = peers_[place_of(source)];
  return peer.source == source && peer.habit == Habit::zero_based;
}

std::uint16_t IdPolicy::expected(const wire::Gid& source) const {
  const Peer& peer = peers_[place_of(source)];
  const bool counts = peer.source == source && peer.habit == Habit::counting;
  return counts ? static_cast<std::uint16_t>(peer.last + 1) : std::uint16_t{0};
}

bool IdPolicy::near(std::uint16_t from, std::uint16_t id) {
  const auto ahead = static_cast<std::uint16_t>(id - from);
  return ahead <= kForward || ahead >= static_cast<std::uint16_t>(-kBackward);
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
