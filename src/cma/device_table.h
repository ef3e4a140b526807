// The devices of this host as they are now, and which of them an address means.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cma/device_choice.h"
#include "cma/types.h"
#include "device/device_info.h"

namespace softrnic::cma {

class DeviceTable {
 public:
  /// These from now on, in place of those before.
  void set(std::vector<device::DeviceInfo> devices) { devices_ = std::move(devices); }
  /// By DeviceInfo::index; nullptr: it has gone.
  const device::DeviceInfo* find(std::uint32_t index) const;

  const std::vector<device::DeviceInfo>& all() const { return devices_; }

  /// The device that has the address `gid`, and its index there: one that is up before others, then the one
  /// that was made first. `interface_index` 0: of any netdev.
  std::optional<Binding> with_gid(const wire::Gid& gid, std::uint32_t interface_index = 0,
                                  const DeviceChoice& choice = {}) const;
  bool any(const DeviceChoice& choice) const;
  bool has_gid(const wire::Gid& gid) const { return with_gid(gid).has_value(); }
  /// The device by which this host reaches itself.
  std::optional<Binding> loopback(Family family, const DeviceChoice& choice = {}) const;
  /// The device that a peer means who connects to `gid`, which may be a loopback address.
  std::optional<Binding> reached_by(const wire::Gid& gid, std::uint32_t interface_index,
                                    const DeviceChoice& choice = {}) const;
  /// What binding to a specific address means; an empty binding for a loopback address that no device has.
  std::optional<Binding> own_address(const SocketAddress& address, const DeviceChoice& choice = {}) const;
  /// What the device asks of its peers; of one that has gone nothing.
  wire::MpaDemands demands_of(const Binding& binding) const;
  /// enum ibv_mtu of the device for packets that has `gid`; 0: none has.
  std::uint8_t mtu_of(const wire::Gid& gid) const;

 private:
  std::vector<device::DeviceInfo> devices_;
};

}  // namespace softrnic::cma
