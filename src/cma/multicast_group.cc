#include "cma/multicast_group.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "wire/mgid.h"

namespace softrnic::cma {
namespace {

// An MGID of IPoIB: ff1S:GGGG:PPPP, then the end of the group's address. S is the scope (of the link, as the
// broadcast group has it), GGGG the signature, PPPP the P_Key.
struct MgidLayout {
  static constexpr std::size_t kSignature = 2, kPkey = 4, kIpv6Group = 6, kIpv4Group = 12;
};
constexpr std::uint16_t kTransient = 0xff12;
/// Of rdma_cm (RDMA_PS_UDP), as Linux has them.
constexpr std::uint16_t kIpv4OfUdp = 0x4001, kIpv6OfUdp = 0x6001;
constexpr std::uint32_t kIpv4GroupBits = 0x0fffffff;

wire::Gid start_of(std::uint16_t signature, std::uint16_t pkey) {
  wire::Gid gid;
  store_be16(gid.raw.data(), kTransient);
  store_be16(&gid.raw[MgidLayout::kSignature], signature);
  store_be16(&gid.raw[MgidLayout::kPkey], pkey);
  return gid;
}

/// ff1x:a01b::/32: an address that stands for the MGID of a group which the subnet administrator has made.
bool is_made_mgid(const SocketAddress& group) {
  constexpr std::uint32_t kButScope = 0xfff0ffff, kMade = 0xff10a01b;
  return group.family == Family::ipv6 && (load_be32(group.host.raw.data()) & kButScope) == kMade;
}

}  // namespace

wire::Gid multicast_gid(const SocketAddress& group, std::uint16_t pkey, PortSpace space) {
  if (group.is_any()) return {};
  if (group.family == Family::ib || is_made_mgid(group)) return group.host;
  const bool udp = space == PortSpace::udp;
  if (group.family == Family::ipv4) {
    wire::Gid gid = start_of(udp ? kIpv4OfUdp : wire::kIpv4Signature, pkey);
    store_be32(&gid.raw[MgidLayout::kIpv4Group], load_be32(group.host.ipv4_bytes()) & kIpv4GroupBits);
    return gid;
  }
  wire::Gid gid = start_of(udp ? kIpv6OfUdp : wire::kIpv6Signature, pkey);
  std::copy(group.host.raw.begin() + MgidLayout::kIpv6Group, group.host.raw.end(),
            gid.raw.begin() + MgidLayout::kIpv6Group);
  return gid;
}

wire::Gid broadcast_gid(std::uint16_t pkey) {
  wire::Gid gid = start_of(wire::kIpv4Signature, pkey);
  store_be32(&gid.raw[MgidLayout::kIpv4Group], 0xffffffff);
  return gid;
}

}  // namespace softrnic::cma
