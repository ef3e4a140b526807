// The other lanes of this host, as far as they let this one see and do.
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

void Lane::meet_peers() {
  for (const std::uint8_t lane : strangers_) {
    UniqueFd socket = show_.socket(lane);
    const std::lock_guard lock(mutex_);
    peers_.meet(lane, std::move(socket));
  }
  strangers_.clear();
  for (std::size_t number = 0; neighbours_.any() && number < neighbours_.size(); ++number) {
    if (!neighbours_[number]) continue;
    const auto lane = static_cast<std::uint8_t>(number);
    DirectPath::Met met = direct_.look_at(lane, show_.memory(lane));
    const std::lock_guard lock(mutex_);
    direct_.meet(lane, std::move(met));
  }
  neighbours_.reset();
}

}  // namespace softrnic::engine
