// Names and sizes that every part of the fabric uses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/strong.h"
#include "base/time.h"
#include "mad/port_info.h"
#include "wire/flow_control_packet.h"
#include "wire/link_header.h"

namespace softrnic::fabric {

/// A switch or an adapter.
struct NodeId : Strong<struct NodeIdTag, std::uint32_t> {
  using Strong::Strong;
};
/// A port of any node; its number at its node is EnginePort::number.
struct PortId : Strong<struct PortIdTag, std::uint32_t> {
  using Strong::Strong;
};
struct LinkId : Strong<struct LinkIdTag, std::uint32_t> {
  using Strong::Strong;
};

inline constexpr std::uint8_t kVls = 16;      ///< VL15 included
inline constexpr std::uint8_t kDataVls = 15;  ///< VL0 to VL14
using wire::kManagementVl;
inline constexpr std::uint8_t kMaxPorts = 254;  ///< of a node; 255 in a forwarding table is "no port"

/// Of a P_Key (IBTA 10.9.1.1): which partition, and whether as a full member of it.
inline constexpr std::uint16_t kPartition = 0x7fff;
inline constexpr std::uint16_t kFullMember = 0x8000;

/// A set of VLs: bit n is VL n.
using VlMask = std::uint16_t;
constexpr VlMask vl_bit(unsigned vl) { return static_cast<VlMask>(1U << vl); }

inline constexpr std::size_t kVcrcBytes = 2;
/// What headers and ICRC may add to the MTU (IBTA 7.7.8).
inline constexpr std::size_t kMaxHeaderBytes = 124;
inline constexpr std::size_t kMaxMtu = 4096;
inline constexpr std::size_t kMaxPacketBytes = kMaxMtu + kMaxHeaderBytes;  ///< LRH to ICRC

/// Credits and weights count blocks of 64 bytes from the LRH to the VCRC; a part of one counts whole (IBTA
/// 7.9.4).
using wire::kFlowControlBlockBytes;
constexpr std::uint16_t blocks_of(std::size_t bytes_before_vcrc) {
  return static_cast<std::uint16_t>((bytes_before_vcrc + kVcrcBytes + kFlowControlBlockBytes - 1) /
                                    kFlowControlBlockBytes);
}
inline constexpr std::uint16_t kMaxPacketBlocks = blocks_of(kMaxPacketBytes);

/// HOQLife of a port and LifeTimeValue of a switch: 4.096 µs · 2^value; more than 19 is without end (IBTA
/// 14.2.5.4, 14.2.5.6, 18.2.5.4).
constexpr Duration lifetime_of(std::uint8_t value) {
  return value > 19 ? Duration::max() : Duration(std::int64_t{4096} << value);
}
inline constexpr std::uint8_t kNoLifetime = 31;

/// Of the link layer (IBTA 7.2): no port is ever in `no_change`, which only requests say.
using mad::PortState;

}  // namespace softrnic::fabric
