#include "engine/scheduler.h"

#include <algorithm>

#include "base/bytes.h"

namespace softrnic::engine {
namespace {

enum Flag : std::uint32_t { kTouched = 1, kWaiting = 2 };

ib::Endpoint* endpoint_at(void* link) { return static_cast<ib::Endpoint*>(link); }

}  // namespace

/// A window and the line of endpoints that wait for it, linked through their hooks.
struct Scheduler::Path : ib::PathWindow {
  ib::Endpoint* first = nullptr;
  ib::Endpoint* last = nullptr;
};

Scheduler::Scheduler() = default;
Scheduler::~Scheduler() = default;

std::size_t Scheduler::KeyHash::operator()(const Key& key) const {
  const std::uint64_t mixed = load_be64(key.destination.raw.data()) * 0x9e3779b97f4a7c15U ^
                              load_be64(key.destination.raw.data() + 8) * 0xc2b2ae3d27d4eb4fU;
  return mixed ^ (mixed >> 29) ^ key.lane;
}

ib::PathWindow& Scheduler::window(const wire::Gid& destination, std::uint8_t peer_lane) {
  std::unique_ptr<Path>& path = paths_[Key{destination, peer_lane}];
  if (path == nullptr) path = std::make_unique<Path>();
  return *path;
}

void Scheduler::touch(ib::Endpoint& endpoint) {
  if ((endpoint.hook.flags & kTouched) != 0) return;
  endpoint.hook.flags |= kTouched;
  touched_.push_back(&endpoint);
  ++touched_count_;
}

void Scheduler::remove(ib::Endpoint& endpoint) {
  if ((endpoint.hook.flags & kTouched) != 0) {
    std::replace(touched_.begin(), touched_.end(), &endpoint, static_cast<ib::Endpoint*>(nullptr));
    endpoint.hook.flags &= ~kTouched;
    --touched_count_;
  }
  if ((endpoint.hook.flags & kWaiting) != 0) dequeue(endpoint);
}

void Scheduler::enqueue(Path& path, ib::Endpoint& endpoint) {
  endpoint.hook.flags |= kWaiting;
  endpoint.hook.next = nullptr;
  endpoint.hook.previous = path.last;
  if (path.last != nullptr) {
    path.last->hook.next = &endpoint;
  } else {
    path.first = &endpoint;
    waiting_paths_.push_back(&path);
  }
  path.last = &endpoint;
}

void Scheduler::dequeue(ib::Endpoint& endpoint) {
  Path& path = *static_cast<Path*>(endpoint.window());
  endpoint.hook.flags &= ~kWaiting;
  ib::Endpoint* const before = endpoint_at(endpoint.hook.previous);
  ib::Endpoint* const behind = endpoint_at(endpoint.hook.next);
  if (before != nullptr) {
    before->hook.next = behind;
  } else {
    path.first = behind;
  }
  if (behind != nullptr) {
    behind->hook.previous = before;
  } else {
    path.last = before;
  }
  if (path.first == nullptr) std::erase(waiting_paths_, &path);
}

ib::Endpoint* Scheduler::next(bool& turn) {
  while (first_touched_ < touched_.size()) {
    ib::Endpoint* endpoint = touched_[first_touched_++];
    if (endpoint == nullptr) continue;
    endpoint->hook.flags &= ~kTouched;
    --touched_count_;
    turn = false;
    return endpoint;
  }
  turn = true;
  return next_waiting();
}

ib::Endpoint* Scheduler::next_waiting() {
  for (std::size_t tried = 0; tried < waiting_paths_.size(); ++tried) {
    next_path_ = (next_path_ + 1) % waiting_paths_.size();
    const Path& path = *waiting_paths_[next_path_];
    if (!path.has_room()) continue;
    ib::Endpoint* endpoint = path.first;
    dequeue(*endpoint);
    return endpoint;
  }
  return nullptr;
}

std::size_t Scheduler::serve(ib::Endpoint& endpoint, bool turn, PacketSink& sink, TimePoint now) {
  auto* path = static_cast<Path*>(endpoint.window());
  const bool hold = !turn && path != nullptr && path->first != nullptr;
  if (hold) path->hold(true);
  std::size_t packets = 0;
  std::size_t bytes = 0;
  ib::Transmit answer = ib::Transmit::packet;
  while (bytes < kBurstBytes && (answer = endpoint.transmit(packet_, now)) == ib::Transmit::packet) {
    sink.transmit(endpoint, packet_);
    bytes += packet_.payload_bytes + wire::kBthBytes;
    ++packets;
  }
  if (hold) path->hold(false);
  const bool waiting = (endpoint.hook.flags & kWaiting) != 0;
  if (answer == ib::Transmit::idle) {
    if (waiting) dequeue(endpoint);
  } else if (answer == ib::Transmit::packet) {
    touch(endpoint);
  } else if (path != nullptr && !waiting && (hold || !path->has_room())) {
    enqueue(*path, endpoint);  // else it waits for tokens: its deadline brings it back
  }
  return packets;
}

void Scheduler::end_round() {
  if (first_touched_ == touched_.size()) {
    touched_.clear();
  } else {
    touched_.erase(touched_.begin(), touched_.begin() + static_cast<std::ptrdiff_t>(first_touched_));
  }
  first_touched_ = 0;
}

bool Scheduler::any_path_open() const {
  return std::any_of(waiting_paths_.begin(), waiting_paths_.end(),
                     [](const Path* path) { return path->has_room(); });
}

}  // namespace softrnic::engine
