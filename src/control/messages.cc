#include "control/messages.h"

#include <algorithm>

namespace softrnic::control {

std::optional<Header> peek_header(Bytes datagram) {
  Header header;
  if (datagram.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, datagram.data(), sizeof header);
  if (header.magic != kMessageMagic || header.size != datagram.size()) return std::nullopt;
  return header;
}

std::optional<std::string_view> text_in(std::span<const char> field) {
  const auto end = std::find(field.begin(), field.end(), '\0');
  if (end == field.end()) return std::nullopt;
  return std::string_view(field.data(), static_cast<std::size_t>(end - field.begin()));
}

bool put_text(std::span<char> field, std::string_view text) {
  if (field.empty()) return false;
  const std::size_t length = std::min(text.size(), field.size() - 1);
  std::fill(field.begin(), field.end(), '\0');
  std::copy_n(text.begin(), length, field.begin());
  return length == text.size();
}

std::uint32_t mpa_bits(wire::MpaDemands demands) {
  return (demands.crc ? kMpaCrc : 0) | (demands.markers ? kMpaMarkers : 0);
}

std::optional<wire::MpaDemands> mpa_demands(std::uint32_t bits) {
  if ((bits & ~(kMpaCrc | kMpaMarkers)) != 0) return std::nullopt;
  return wire::MpaDemands{(bits & kMpaCrc) != 0, (bits & kMpaMarkers) != 0};
}

static InfinibandRecord to_record(const device::InfinibandPort& port) {
  InfinibandRecord record;
  record.state = port.state;
  record.physical_state = port.physical_state;
  record.active_width = port.active_width;
  record.active_speed = port.active_speed;
  record.lmc = port.lmc;
  record.sm_sl = port.sm_sl;
  record.data_vls = port.data_vls;
  record.subnet_timeout = port.subnet_timeout;
  record.lid = port.lid.value;
  record.sm_lid = port.sm_lid.value;
  record.capabilities = port.capabilities;
  record.reregistrations = port.reregistrations;
  record.pkey_count = static_cast<std::uint32_t>(std::min(port.pkeys.size(), kMaxPkeys));
  std::copy_n(port.pkeys.begin(), record.pkey_count, record.pkeys);
  return record;
}

/// Nothing when a number is out of bounds.
static std::optional<device::InfinibandPort> from_record(const InfinibandRecord& record) {
  if (record.pkey_count > kMaxPkeys || record.lmc > 7) return std::nullopt;
  device::InfinibandPort port;
  port.state = record.state;
  port.physical_state = record.physical_state;
  port.active_width = record.active_width;
  port.active_speed = record.active_speed;
  port.lmc = record.lmc;
  port.sm_sl = record.sm_sl;
  port.data_vls = record.data_vls;
  port.subnet_timeout = record.subnet_timeout;
  port.lid = wire::Lid(record.lid);
  port.sm_lid = wire::Lid(record.sm_lid);
  port.capabilities = record.capabilities;
  port.reregistrations = record.reregistrations;
  port.pkeys.assign(record.pkeys, record.pkeys + record.pkey_count);
  return port;
}

DeviceRecord to_record(const device::DeviceInfo& device) {
  DeviceRecord record;
  record.kind = static_cast<std::uint32_t>(device.kind);
  record.mpa = mpa_bits(device.mpa);
  record.guid = device.guid;
  record.speed_mbps = device.port.speed_mbps;
  record.index = device.index;
  record.interface_index = device.interface_index;
  record.up = device.port.up ? 1 : 0;
  record.netdev_mtu = device.port.netdev_mtu;
  record.active_mtu = device.port.active_mtu;
  record.gid_count = static_cast<std::uint32_t>(std::min(device.port.gids.size(), kMaxGids));
  put_text(record.name, device.name);
  put_text(record.netdev, device.netdev);
  for (std::size_t i = 0; i < record.gid_count; ++i) {
    const device::GidEntry& entry = device.port.gids[i];
    std::memcpy(record.gids[i].gid, entry.gid.raw.data(), sizeof record.gids[i].gid);
    record.gids[i].interface_index = entry.interface_index;
  }
  record.infiniband = to_record(device.port.infiniband);
  return record;
}

std::optional<device::DeviceInfo> from_record(const DeviceRecord& record) {
  const auto name = text_in(record.name);
  const auto netdev = text_in(record.netdev);
  const auto mpa = mpa_demands(record.mpa);
  auto infiniband = from_record(record.infiniband);
  if (!name || !netdev || !mpa || !infiniband || record.gid_count > kMaxGids || !device::is_kind(record.kind))
    return std::nullopt;
  device::DeviceInfo device;
  device.port.infiniband = std::move(*infiniband);
  device.kind = static_cast<device::Kind>(record.kind);
  device.mpa = *mpa;
  device.index = record.index;
  device.name = *name;
  device.netdev = *netdev;
  device.interface_index = record.interface_index;
  device.guid = record.guid;
  device.port.up = record.up != 0;
  device.port.netdev_mtu = record.netdev_mtu;
  device.port.active_mtu = record.active_mtu;
  device.port.speed_mbps = record.speed_mbps;
  device.port.gids.resize(record.gid_count);
  for (std::size_t i = 0; i < record.gid_count; ++i) {
    std::memcpy(device.port.gids[i].gid.raw.data(), record.gids[i].gid, sizeof record.gids[i].gid);
    device.port.gids[i].interface_index = record.gids[i].interface_index;
  }
  return device;
}

}  // namespace softrnic::control
