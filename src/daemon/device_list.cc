#include "daemon/device_list.h"

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "base/reason_id.h"
#include "daemon/netdev_choice.h"

namespace softrnic::daemon {
namespace {

constexpr const char* kDefaultName = "soft0";
static_assert(GidTable::kLength <= control::kMaxGids);

bool same(const device::DeviceInfo& a, const device::DeviceInfo& b) {
  const control::DeviceRecord x = control::to_record(a), y = control::to_record(b);
  return std::memcmp(&x, &y, sizeof x) == 0 &&
         std::ranges::equal(a.port.addresses, b.port.addresses, [](const auto& one, const auto& other) {
           return one.gid == other.gid && one.interface_index == other.interface_index;
         });
}

/// The one GID of an iWARP device, which has no more use than to name it: its Ethernet address, as with
/// Linux's siw. Where there is none the GUID, which is made of one elsewhere, stands in.
wire::Gid gid_of_name(const net::Netdev& netdev, std::uint64_t guid) {
  wire::Gid gid;
  for (std::size_t i = 0; i < 6; ++i) {
    const std::size_t byte = i < 3 ? i : i + 2;  // without ff:fe (EUI-64)
    gid.raw[i] =
        netdev.mac.size() == 6 ? std::byte{netdev.mac[i]} : static_cast<std::byte>(guid >> (56 - 8 * byte));
  }
  return gid;
}

}  // namespace

bool valid_device_name(const std::string& name) {
  if (name.empty() || name.size() >= control::kDeviceNameSize) return false;
  if (std::isalpha(static_cast<unsigned char>(name[0])) == 0) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.');
  });
}

void DeviceList::refresh(Device& device, const net::NetSnapshot& snapshot) const {
  device::DeviceInfo& info = device.info;
  // by name, so that a netdev that was made anew is found again
  const net::Netdev* netdev = snapshot.find(info.netdev);
  info.port.up = netdev != nullptr && netdev->up;
  const auto addresses =
      netdev != nullptr ? snapshot.addresses_of(netdev->index) : std::vector<net::Address>{};
  const bool by_address = device::gids_are_addresses(info.kind);
  if (by_address) {
    device.gids.update(addresses);
    info.port.gids = device.gids.entries();
  } else {
    info.port.addresses = GidTable::without_bound(addresses);
  }
  if (netdev == nullptr) return;
  info.interface_index = netdev->index;
  info.guid = device.first_of_netdev ? guid_for(*netdev, host_)
                                     : guid_of_name(host_ + "/" + info.netdev + "/" + info.name);
  info.port.netdev_mtu = netdev->mtu;
  info.port.active_mtu = active_mtu_for(netdev->mtu);
  info.port.speed_mbps = netdev->speed_mbps;
  if (!by_address) info.port.gids.assign(1, {gid_of_name(*netdev, info.guid), netdev->index});
}

DeviceList::Device DeviceList::make(const device::NewDevice& wanted, const net::Netdev& netdev,
                                    const net::NetSnapshot& snapshot) {
  Device device;
  device.info.kind = wanted.kind;
  device.info.index = next_index_++;
  device.info.name = wanted.name;
  device.info.mpa = wanted.mpa;
  device.info.netdev = netdev.name;
  device.first_of_netdev = std::none_of(devices_.begin(), devices_.end(), [&netdev](const Device& other) {
    return other.first_of_netdev && other.info.netdev == netdev.name;
  });
  refresh(device, snapshot);
  return device;
}

std::vector<DeviceChange> DeviceList::update(const net::NetSnapshot& snapshot, bool may_rebind) {
  std::vector<DeviceChange> changes;
  const net::Netdev* choice = choose_netdev(snapshot);
  if (devices_.empty() && !edited_ && choice != nullptr) {
    devices_.push_back(make({kDefaultName, choice->name}, *choice, snapshot));
    devices_.back().automatic = true;
    changes.push_back({control::Change::device_added, devices_.back().info});
  }
  for (Device& device : devices_) {
    if (device::has_lids(device.info.kind)) continue;  // see put()
    if (device.automatic && may_rebind && choice != nullptr && choice->name != device.info.netdev) {
      changes.push_back({control::Change::device_removed, device.info});
      device = make({kDefaultName, choice->name}, *choice, snapshot);
      device.automatic = true;
      changes.push_back({control::Change::device_added, device.info});
      continue;
    }
    const device::DeviceInfo before = device.info;
    refresh(device, snapshot);
    if (!same(before, device.info)) changes.push_back({control::Change::device_changed, device.info});
  }
  return changes;
}

Expected<DeviceChange, Failure> DeviceList::add(const device::NewDevice& wanted,
                                                const net::NetSnapshot& snapshot) {
  if (!valid_device_name(wanted.name))
    return Unexpected{refuse(EINVAL, ReasonId::link_name_bad, wanted.name.size())};
  if (wanted.mpa != wire::MpaDemands{} && !device::has_streams(wanted.kind))
    return Unexpected{refuse(EINVAL, ReasonId::link_no_mpa)};
  if (devices_.size() >= control::kMaxDevices)
    return Unexpected{refuse(ENOSPC, ReasonId::too_many_links, devices_.size())};
  for (const Device& device : devices_)
    if (device.info.name == wanted.name) return Unexpected{refuse(EEXIST, ReasonId::link_exists)};
  const net::Netdev* found = snapshot.find(wanted.netdev);
  if (found == nullptr) return Unexpected{refuse(ENODEV, ReasonId::no_such_netdev)};
  devices_.push_back(make(wanted, *found, snapshot));
  edited_ = true;
  return DeviceChange{control::Change::device_added, devices_.back().info};
}

Expected<DeviceChange, Failure> DeviceList::remove(const std::string& name) {
  const auto it = std::find_if(devices_.begin(), devices_.end(),
                               [&name](const Device& d) { return d.info.name == name; });
  if (it == devices_.end()) return Unexpected{refuse(ENODEV, ReasonId::no_such_link)};
  DeviceChange change{control::Change::device_removed, it->info};
  devices_.erase(it);
  edited_ = true;
  return change;
}

std::optional<DeviceChange> DeviceList::put(const device::DeviceInfo& device) {
  const auto it = std::find_if(devices_.begin(), devices_.end(),
                               [&device](const Device& d) { return d.info.index == device.index; });
  if (it == devices_.end()) {
    devices_.push_back({.info = device, .gids = {}});
    return DeviceChange{control::Change::device_added, device};
  }
  if (same(it->info, device)) return std::nullopt;
  it->info = device;
  return DeviceChange{control::Change::device_changed, device};
}

std::vector<device::DeviceInfo> DeviceList::devices() const {
  std::vector<device::DeviceInfo> out;
  for (const Device& device : devices_) out.push_back(device.info);
  return out;
}

}  // namespace softrnic::daemon
