#include "flow/path_table.h"

#include <utility>

#include "base/bytes.h"

namespace softrnic::flow {

void Path::go_by_ring(ib::Gauge& room, std::uint32_t longest_packet, std::uint32_t window) {
  set_memory(longest_packet, window);
  ring_ = &room;
  choose_gauge();
}

void Path::go_by_network() {
  set_memory(0, 0);
  ring_ = nullptr;
  choose_gauge();
}

void Path::set_credit(std::unique_ptr<PeerCredit> credit) {
  credit_ = std::move(credit);
  choose_gauge();
}

void Path::choose_gauge() { observe(ring_ != nullptr ? ring_ : credit_.get()); }

std::size_t PathTable::KeyHash::operator()(const Key& key) const {
  const std::uint64_t mixed = (load_be64(key.destination.raw.data()) * 0x9e3779b97f4a7c15U) ^
                              (load_be64(key.destination.raw.data() + 8) * 0xc2b2ae3d27d4eb4fU);
  return mixed ^ (mixed >> 29) ^ key.lane;
}

Path& PathTable::path(const wire::Gid& destination, std::uint8_t peer_lane) {
  std::unique_ptr<Path>& path = paths_[Key{destination, peer_lane}];
  if (path == nullptr) {
    path = std::make_unique<Path>();
    path->lane = peer_lane;
  }
  return *path;
}

Path* PathTable::find(const wire::Gid& destination, std::uint8_t peer_lane) {
  const auto found = paths_.find(Key{destination, peer_lane});
  return found == paths_.end() ? nullptr : found->second.get();
}

}  // namespace softrnic::flow
