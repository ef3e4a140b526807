#include "rnic/context.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/reason_id.h"
#include "rnic/limits.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

using device::PortInfo;

bool same_gids(const PortInfo& a, const PortInfo& b) {
  const auto same = [](const device::GidEntry& x, const device::GidEntry& y) { return x.gid == y.gid; };
  return std::equal(a.gids.begin(), a.gids.end(), b.gids.begin(), b.gids.end(), same);
}

/// What befalls a port, and the event that tells of it (IBTA 11.6.3.3).
struct PortChange {
  ibv_event_type event;
  bool (*has_come)(const PortInfo& old, const PortInfo& now);
};
constexpr PortChange kPortChanges[] = {
    {IBV_EVENT_PORT_ERR, [](auto& old, auto& now) { return old.up && !now.up; }},
    {IBV_EVENT_PORT_ACTIVE, [](auto& old, auto& now) { return !old.up && now.up; }},
    {IBV_EVENT_LID_CHANGE, [](auto& old, auto& now) { return old.infiniband.lid != now.infiniband.lid; }},
    {IBV_EVENT_PKEY_CHANGE,
     [](auto& old, auto& now) { return old.infiniband.pkeys != now.infiniband.pkeys; }},
    {IBV_EVENT_SM_CHANGE,
     [](auto& old, auto& now) {
       return old.infiniband.sm_lid != now.infiniband.sm_lid || old.infiniband.sm_sl != now.infiniband.sm_sl;
     }},
    {IBV_EVENT_CLIENT_REREGISTER,
     [](auto& old, auto& now) { return old.infiniband.reregistrations != now.infiniband.reregistrations; }},
    {IBV_EVENT_GID_CHANGE, [](auto& old, auto& now) { return !same_gids(old, now); }},
};

}  // namespace

Context::Context(std::shared_ptr<const device::DeviceInfo> info, Lanes& lanes)
    : lanes_(lanes), info_(std::move(info)) {}

std::shared_ptr<const device::DeviceInfo> Context::info() const {
  const std::lock_guard lock(mutex_);
  return info_;
}

void Context::update(std::shared_ptr<const device::DeviceInfo> info) {
  std::shared_ptr<const device::DeviceInfo> old = info;
  {
    const std::lock_guard lock(mutex_);
    std::swap(old, info_);
  }
  for (const PortChange& change : kPortChanges)
    if (change.has_come(old->port, info->port)) events_.raise_port(change.event, 1);
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
  const auto device = info();
  const auto pkeys = device::pkeys_of(*device);
  if (index < 0 || static_cast<std::size_t>(index) >= pkeys.size())
    return refused(EINVAL, ReasonId::bad_pkey_index, index, pkeys.size());
  return pkeys[static_cast<std::size_t>(index)];
}

}  // namespace softrnic::rnic
