#include "device/lid.h"

namespace softrnic::device {
namespace {

constexpr std::uint32_t kLidMask = 0xffff;

std::uint32_t address_of(const wire::Gid& gid) { return __builtin_bswap32(gid.ipv4_be()); }

bool is_loopback(std::uint32_t address) { return address >> 24 == 127; }

/// The index of the GID whose address the LID comes from.
std::optional<std::size_t> find_base(const PortInfo& port) {
  std::optional<std::size_t> loopback;
  for (std::size_t i = 0; i < port.gids.size() && i <= UINT8_MAX; ++i) {
    const wire::Gid& gid = port.gids[i].gid;
    if (!gid.is_ipv4()) continue;
    if (!is_loopback(address_of(gid))) return i;
    if (!loopback) loopback = i;
  }
  return loopback;
}

}  // namespace

std::uint16_t port_lid(const PortInfo& port) {
  const auto base = find_base(port);
  return base ? static_cast<std::uint16_t>(address_of(port.gids[*base].gid) & kLidMask) : 0;
}

std::optional<LidRoute> route_of_lid(const PortInfo& port, std::uint16_t dlid) {
  const auto base = find_base(port);
  if (!base || dlid == 0) return std::nullopt;
  const std::uint32_t address = (address_of(port.gids[*base].gid) & ~kLidMask) | dlid;
  return LidRoute{static_cast<std::uint8_t>(*base), wire::Gid::from_ipv4_be(__builtin_bswap32(address))};
}

}  // namespace softrnic::device
