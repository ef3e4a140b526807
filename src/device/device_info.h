// A device as its users see it: what the daemon publishes about it. Plain data, copied and replaced as a
// whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device_kind.h"
#include "wire/gid.h"
#include "wire/mpa.h"

namespace softrnic::device {

/// One entry of a port's GID table. Unused entries below the table's length have a zero gid.
struct GidEntry {
  wire::Gid gid;
  std::uint32_t interface_index = 0;
};

/// Port 1 of a device.
struct PortInfo {
  bool up = false;
  std::uint32_t netdev_mtu = 1500;  ///< bytes of an IP packet
  std::uint32_t active_mtu = 1024;  ///< largest IBTA path MTU that fits: 256 … 4096 bytes
  std::uint64_t speed_mbps = 0;     ///< of the netdev, 0: unknown
  std::vector<GidEntry> gids;       ///< index is the GID index
  /// Of the netdev, where GIDs are no IP addresses; see addresses_of(). The daemon alone knows them.
  std::vector<GidEntry> addresses;
};

struct DeviceInfo {
  Kind kind = Kind::roce_v2;
  std::uint32_t index = 0;  ///< never reused while the daemon lives
  std::string name;         ///< "soft0"
  std::string netdev;       ///< "eth0"
  std::uint32_t interface_index = 0;
  std::uint64_t guid = 0;  ///< EUI-64, host order
  PortInfo port;
  wire::MpaDemands mpa;  ///< of one with streams
};

/// What is said of a device to make it.
struct NewDevice {
  std::string name;
  std::string netdev;
  Kind kind = Kind::roce_v2;
  wire::MpaDemands mpa{};  ///< with a kind that has streams
};

/// The IP addresses that peers reach the device by.
inline const std::vector<GidEntry>& addresses_of(const DeviceInfo& device) {
  return gids_are_addresses(device.kind) ? device.port.gids : device.port.addresses;
}

}  // namespace softrnic::device
