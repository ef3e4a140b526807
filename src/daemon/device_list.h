// The devices of this daemon and what becomes of them as the host's network changes. No I/O.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "control/messages.h"
#include "daemon/gid_table.h"
#include "device/device_info.h"
#include "net/net_snapshot.h"

namespace softrnic::daemon {

struct DeviceChange {
  control::Change change{};
  device::DeviceInfo device;
};

class DeviceList {
 public:
  /// `host` distinguishes GUIDs that cannot come from a MAC.
  explicit DeviceList(std::string host) : host_(std::move(host)) {}

  /// Brings all devices up to date. The first call creates soft0. While `may_rebind` (nobody has it open),
  /// soft0 follows the choice of netdev; later it stays where it is, and is down while its netdev is away.
  std::vector<DeviceChange> update(const net::NetSnapshot& snapshot, bool may_rebind);

  Expected<DeviceChange, Failure> add(const device::NewDevice& wanted, const net::NetSnapshot& snapshot);
  Expected<DeviceChange, Failure> remove(const std::string& name);
  /// A device that follows no netdev and is told of as a whole: one of an emulated host. By its index it is
  /// added, or changed. Nothing: it is as it was.
  std::optional<DeviceChange> put(const device::DeviceInfo& device);

  std::vector<device::DeviceInfo> devices() const;
  /// The user added or deleted one: the list is worth keeping.
  bool edited() const { return edited_; }

 private:
  struct Device {
    device::DeviceInfo info;
    GidTable gids;           ///< where they are addresses
    bool automatic = false;  ///< soft0, as long as the user did not make it
    /// Has the GUID that comes from the netdev's MAC. For life: programs know a device by its GUID.
    bool first_of_netdev = false;
  };
  void refresh(Device& device, const net::NetSnapshot& snapshot) const;
  Device make(const device::NewDevice& wanted, const net::Netdev& netdev, const net::NetSnapshot& snapshot);

  std::string host_;
  std::vector<Device> devices_;
  std::uint32_t next_index_ = 1;
  bool edited_ = false;
};

/// A letter, then letters, digits, '_', '-' and '.'; at most 63.
bool valid_device_name(const std::string& name);

}  // namespace softrnic::daemon
