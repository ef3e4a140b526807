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

  /// The device that peers reach by `gid`, and its index there: one that is up before others, then the one
  /// that was made first. `interface_index` 0: of any netdev.
  std::optional<Binding> with_gid(const wire::Gid& gid, std::uint32_t interface_index = 0,
                                  const DeviceChoice& choice = {}) const;
  /// The same by an IP address: of InfiniBand that of its IPoIB interface, and elsewhere a GID.
  std::optional<Binding> with_address(const wire::Gid& address, std::uint32_t interface_index = 0,
                                      const DeviceChoice& choice = {}) const;
  /// The InfiniBand device, up and in the partition `pkey` (0: of its own choice), from which `peer` is to be
  /// reached: it has a GID of the same subnet. Nothing: there is none.
  std::optional<Binding> in_subnet_of(const wire::Gid& peer, std::uint16_t pkey,
                                      const DeviceChoice& choice = {}) const;
  bool any(const DeviceChoice& choice) const;
  bool has_gid(const wire::Gid& gid) const { return with_gid(gid).has_value(); }
  /// The device by which this host reaches itself.
  std::optional<Binding> loopback(Family family, const DeviceChoice& choice = {}) const;
  /// The device that a peer means who connects to `address`, which may be of loopback.
  std::optional<Binding> reached_by(const wire::Gid& address, std::uint32_t interface_index,
                                    const DeviceChoice& choice = {}) const;
  /// What binding to a specific address means; an empty binding for a loopback address that no device has.
  std::optional<Binding> own_address(const SocketAddress& address, const DeviceChoice& choice = {}) const;
  /// What the device asks of its peers; of one that has gone nothing.
  wire::MpaDemands demands_of(const Binding& binding) const;
  /// enum ibv_mtu of the device for packets that has `gid`; 0: none has.
  std::uint8_t mtu_of(const wire::Gid& gid) const;
  /// Where the device has the partition of `pkey`; nothing: it is not in it. 0 where there are no partitions.
  std::optional<std::uint16_t> pkey_index_of(const Binding& binding, std::uint16_t pkey) const;

 private:
  /// The same there, if its port is in it; `pkey` 0: as it is.
  std::optional<Binding> in_partition(Binding binding, std::uint16_t pkey) const;

  std::vector<device::DeviceInfo> devices_;
};

}  // namespace softrnic::cma
