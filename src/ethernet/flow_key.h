// What flow rules look at: the headers of a frame in one flat structure, so that a rule is a value and a mask
// of the same structure, and a match a comparison of words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/bytes.h"

namespace softrnic::ethernet {

/// Headers that a frame can have. Those of a tunnelled packet are the same, shifted by kInnerShift.
enum Layer : std::uint32_t {
  kEthernet = 1 << 0,
  kVlan = 1 << 1,
  kIpv4 = 1 << 2,
  kIpv6 = 1 << 3,
  kTcp = 1 << 4,
  kUdp = 1 << 5,
  kEsp = 1 << 6,
  kMpls = 1 << 7,
  kGre = 1 << 8,
  kVxlan = 1 << 9,
};
inline constexpr unsigned kInnerShift = 16;

/// Bits of HeaderFields::ip_flags, as enum ib_ipv4_flags of the kernel counts them.
inline constexpr std::uint8_t kIpv4DontFragmentBit = 0x2;
inline constexpr std::uint8_t kIpv4MoreFragmentsBit = 0x4;

/// The fields of one stack of headers, in network byte order.
struct HeaderFields {
  std::array<std::byte, 6> destination_mac;
  std::array<std::byte, 6> source_mac;
  std::uint16_t ether_type;             ///< behind the last VLAN tag
  std::uint16_t vlan;                   ///< TCI of the first VLAN tag
  std::array<std::byte, 16> source_ip;  ///< IPv4: in the first 4 bytes
  std::array<std::byte, 16> destination_ip;
  std::uint32_t flow_label;  ///< IPv6
  std::uint8_t protocol;     ///< behind the extension headers of IPv6
  std::uint8_t traffic_class;
  std::uint8_t hop_limit;
  std::uint8_t ip_flags;  ///< IPv4
  std::uint16_t source_port;
  std::uint16_t destination_port;
  std::uint32_t esp_spi;
  std::uint32_t esp_sequence;
  std::uint32_t mpls_label;  ///< the whole entry on top of the stack
};

struct FlowKey {
  std::array<HeaderFields, 2> stack;  ///< outer, inner
  std::uint32_t tunnel_id;            ///< VXLAN: the VNI, 24 bits
  std::uint32_t gre_key;
  std::uint16_t gre_flags;  ///< its first two bytes
  std::uint16_t gre_protocol;
  std::uint32_t unused;

  static constexpr std::size_t kWords = 20;
  using Words = std::array<std::uint64_t, kWords>;
};
static_assert(sizeof(FlowKey) == sizeof(FlowKey::Words));
static_assert(std::has_unique_object_representations_v<FlowKey>);

/// A frame as rules see it.
struct ParsedFrame {
  std::uint32_t layers = 0;  ///< which Layers it has
  FlowKey key{};
  // where the outer ones begin, if they are there
  std::uint32_t network_at = 0;
  std::uint32_t transport_at = 0;

  bool has(std::uint32_t wanted) const { return (layers & wanted) == wanted; }
};

/// Reads a frame, which may be cut off or forged anywhere: what is not whole is not there, and neither is
/// what is behind it. Whether lengths and checksums are right is the receiver's affair. Ports of IP fragments
/// but the first are not there.
ParsedFrame parse(Bytes frame);

}  // namespace softrnic::ethernet
