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
  return record;
}

std::optional<device::DeviceInfo> from_record(const DeviceRecord& record) {
  const auto name = text_in(record.name);
  const auto netdev = text_in(record.netdev);
  const auto mpa = mpa_demands(record.mpa);
  if (!name || !netdev || !mpa || record.gid_count > kMaxGids || !device::is_kind(record.kind))
    return std::nullopt;
  device::DeviceInfo device;
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
