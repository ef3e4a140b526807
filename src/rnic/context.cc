#include "rnic/context.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "rnic/limits.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {

Context::Context(std::shared_ptr<const device::DeviceInfo> info, Lanes& lanes)
    : lanes_(lanes), info_(std::move(info)) {}

std::shared_ptr<const device::DeviceInfo> Context::info() const {
  const std::lock_guard lock(mutex_);
  return info_;
}

void Context::update(std::shared_ptr<const device::DeviceInfo> info) {
  const device::PortInfo& port = info->port;
  bool moved = false;
  bool changed_gids = false;
  {
    const std::lock_guard lock(mutex_);
    const device::PortInfo& old = info_->port;
    moved = port.up != old.up;
    const auto same = [](const device::GidEntry& a, const device::GidEntry& b) { return a.gid == b.gid; };
    changed_gids = !std::equal(port.gids.begin(), port.gids.end(), old.gids.begin(), old.gids.end(), same);
    info_ = info;
  }
  if (moved) events_.raise_port(port.up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, 1);
  if (changed_gids) events_.raise_port(IBV_EVENT_GID_CHANGE, 1);
}

void Context::device_lost() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(lost_, true)) return;
  }
  events_.raise_device(IBV_EVENT_DEVICE_FATAL);
}

Expected<device::GidEntry, Failure> Context::gid(unsigned port, int index) const {
  if (port != limits::kPorts) return refused(EINVAL, ReasonId::bad_port, port);
  const auto device = info();
  const auto& gids = device->port.gids;
  if (index < 0 || static_cast<std::size_t>(index) >= gids.size()) {
    return refused(EINVAL, ReasonId::bad_gid_index, index, gids.size());
  }
  return gids[static_cast<std::size_t>(index)];
}

Expected<std::uint16_t, Failure> Context::pkey(unsigned port, int index) const {
  if (port != limits::kPorts) return refused(EINVAL, ReasonId::bad_port, port);
  if (index < 0 || index >= limits::kPkeys)
    return refused(EINVAL, ReasonId::bad_pkey_index, index, limits::kPkeys);
  return wire::kDefaultPkey;
}

}  // namespace softrnic::rnic
