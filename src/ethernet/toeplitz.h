// Receive side scaling: the Toeplitz hash of what names a flow (Microsoft, "RSS hashing types").
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "ethernet/flow_key.h"

namespace softrnic::ethernet {

inline constexpr std::size_t kToeplitzKeyBytes = 40;
using ToeplitzKey = std::array<std::byte, kToeplitzKeyBytes>;

/// Of up to 36 bytes.
std::uint32_t toeplitz_hash(const ToeplitzKey& key, Bytes input);

/// Bits of enum ibv_rx_hash_fields.
enum HashField : std::uint32_t {
  kHashSourceIpv4 = 1 << 0,
  kHashDestinationIpv4 = 1 << 1,
  kHashSourceIpv6 = 1 << 2,
  kHashDestinationIpv6 = 1 << 3,
  kHashSourceTcp = 1 << 4,
  kHashDestinationTcp = 1 << 5,
  kHashSourceUdp = 1 << 6,
  kHashDestinationUdp = 1 << 7,
  kHashIpsecSpi = 1 << 8,
  kHashInner = 1U << 31,  ///< of the packet within the tunnel
};

/// How frames are spread over work queues.
struct ReceiveHash {
  ToeplitzKey key{};
  std::uint32_t fields = 0;  ///< HashFields

  /// Of those of the fields that the frame has, in the order source address, destination address, source
  /// port, destination port, SPI; 0: it has none.
  std::uint32_t of(const ParsedFrame& frame) const;
};

}  // namespace softrnic::ethernet
