// The windows of a lane's paths.
#include "base/attempt.h"
#include "engine/lane.h"
#include "link/mtu_hint.h"

namespace softrnic::engine {

ib::PathWindow& Lane::window(const ib::AddressVector& path, Qpn remote) {
  flow::Path& window = paths_.path(path.destination, remote.lane());
  reserve(qps_.size());
  look_for(window, addresses_.has(path.destination));
  return window;
}

// The peer's lane can be asked over each of them. Whether it is asked depends on the way that packets take
// (flow::Path).
ib::PathWindow* Lane::gauged_window(const ib::AddressVector& path, Qpn remote) {
  if (remote.lane() == 0 || path.destination.is_multicast()) return nullptr;  // lane 0 is the daemon's
  const bool local = addresses_.has(path.destination);
  flow::Path* found = paths_.find(path.destination, remote.lane());
  if (found != nullptr && found->credit() != nullptr) return found;
  if (!local && credit_.full()) return nullptr;
  const bool watched = attempt([&] {
    found = &paths_.path(path.destination, remote.lane());
    reserve(qps_.size());
    credit_.observe(*found, path, remote.lane(), local);
  });
  if (!watched) return nullptr;
  look_for(*found, local);
  return found;
}

rnic::Silence Lane::silence(const ib::AddressVector& path, bool full_packet) {
  const bool by_ip = path.dlid.is_reserved() && !addresses_.has(path.destination);
  if (!by_ip) return {};
  const KernelDropWatch::Growth dropped = kernel_drops_.growth(clock_.batch_time());
  return {.mtu = full_packet ? link::mtu_hint(path.source, path.destination, path.interface_index) : 0,
          .dropped = dropped.counts,
          .within = dropped.within};
}

void Lane::look_for(flow::Path& path, bool local) {
  if (peers_.look_for(path, local) && !clock_.in_batch()) arm(Duration::zero());
}

}  // namespace softrnic::engine
