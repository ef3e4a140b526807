// A device as its users see it: what the daemon publishes about it. Plain data, copied and replaced as a
// whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/device_kind.h"
#include "wire/gid.h"
#include "wire/headers.h"
#include "wire/lid.h"
#include "wire/mpa.h"

namespace softrnic::device {

/// One entry of a port's GID table. Unused entries below the table's length have a zero gid.
struct GidEntry {
  wire::Gid gid;
  std::uint32_t interface_index = 0;
};

/// What cable and subnet manager have made of an InfiniBand port: parts of PortInfo (IBTA 14.2.5.6), in the
/// numbers of struct ibv_port_attr.
struct InfinibandPort {
  std::uint8_t state = 0;           ///< enum ibv_port_state
  std::uint8_t physical_state = 0;  ///< 3: disabled, 5: link up …
  std::uint8_t active_width = 0;
  std::uint8_t active_speed = 0;
  std::uint8_t lmc = 0;
  std::uint8_t sm_sl = 0;
  std::uint8_t data_vls = 0;        ///< code of VLCap
  std::uint8_t subnet_timeout = 0;  ///< 5-bit code: 4.096 µs · 2^code
  wire::Lid lid;
  wire::Lid sm_lid;
  std::uint32_t capabilities = 0;  ///< CapabilityMask
  /// How often the subnet manager has asked clients to register again (ClientReregister)
  std::uint32_t reregistrations = 0;
  std::vector<std::uint16_t> pkeys;  ///< index is the P_Key index; 0: an empty entry

  bool operator==(const InfinibandPort&) const = default;
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
  InfinibandPort infiniband{};  ///< of a device with LIDs
};

struct DeviceInfo {
  Kind kind = Kind::roce_v2;
  std::uint32_t index = 0;            ///< never reused while the daemon lives
  std::string name;                   ///< "soft0"
  std::string netdev;                 ///< "eth0"
  std::uint32_t interface_index = 0;  ///< of the netdev; InfiniBand: number of the port at this host
  std::uint64_t guid = 0;             ///< EUI-64, host order
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

/// Where there are no partitions everybody is in the default one.
inline constexpr std::uint16_t kOnlyPkey[] = {wire::kDefaultPkey};
/// The P_Key table of the port.
inline std::span<const std::uint16_t> pkeys_of(const DeviceInfo& device) {
  if (has_lids(device.kind)) return device.port.infiniband.pkeys;
  return kOnlyPkey;
}

/// The IP addresses that peers reach the device by.
inline const std::vector<GidEntry>& addresses_of(const DeviceInfo& device) {
  return gids_are_addresses(device.kind) ? device.port.gids : device.port.addresses;
}

}  // namespace softrnic::device
