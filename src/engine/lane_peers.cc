// The other lanes of this host, as far as they let this one see and do.
#include <new>
#include <utility>

#include "engine/lane.h"

namespace softrnic::engine {

void Lane::meet_neighbour(const rnic::QueuePair& qp) {
  auto* path = static_cast<Path*>(qp.window());
  path->local = peers_.has(qp.transport_attributes().path.destination);
  if (path->local) direct_.expect(qp.transport_attributes().remote.lane());
}

bool Lane::may_go_direct(const rnic::QueuePair& qp) { return direct_state(qp) == DirectState::direct; }

DirectState Lane::direct_state(const rnic::QueuePair& qp) const {
  const auto* path = static_cast<const Path*>(qp.window());
  if (path == nullptr || !path->local || qp.type() == IBV_QPT_UD) return DirectState::other_host;
  return direct_.state(qp.transport_attributes().remote.lane());
}

// A lane that cannot be met for want of memory is one that shows nothing: packets reach it all the same.
void Lane::meet_socket(std::uint8_t lane) {
  try {
    UniqueFd socket = show_.socket(lane);
    const std::lock_guard lock(mutex_);
    peers_.meet(lane, std::move(socket));
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    peers_.meet(lane, UniqueFd());
  }
}

void Lane::meet_memory(std::uint8_t lane) {
  try {
    DirectPath::Met met = direct_.look_at(lane, show_.memory(lane));
    const std::lock_guard lock(mutex_);
    direct_.meet(lane, std::move(met));
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    direct_.meet(lane, Unexpected{DirectState::not_shared});
  }
}

void Lane::meet_peers() {
  for (const std::uint8_t lane : strangers_) meet_socket(lane);
  strangers_.clear();
  for (std::size_t lane = 0; neighbours_.any() && lane < neighbours_.size(); ++lane)
    if (neighbours_[lane]) meet_memory(static_cast<std::uint8_t>(lane));
  neighbours_.reset();
  map_segments();
}

// Mapping and unmapping take a while, and so are done without the lock.
void Lane::map_segments() {
  SegmentCache::Mappings old;
  try {
    for (const DirectPath::Wish& wish : wishes_.all()) {
      link::MappedRange mapped = direct_.map(wish);
      const std::lock_guard lock(mutex_);
      direct_.install(wish, std::move(mapped), monotonic_now(), old);
    }
    const std::lock_guard lock(mutex_);
    direct_.sweep(monotonic_now(), old);
  } catch (const std::bad_alloc&) {
    // what could not be mapped is reached without
  }
  wishes_ = {};
}

}  // namespace softrnic::engine
