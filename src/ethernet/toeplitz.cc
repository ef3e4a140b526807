#include "ethernet/toeplitz.h"

#include <algorithm>
#include <cstring>

namespace softrnic::ethernet {

// For every bit of the input that is 1, the 32 bits of the key that begin at its place are added.
std::uint32_t toeplitz_hash(const ToeplitzKey& key, Bytes input) {
  std::uint32_t hash = 0;
  std::uint64_t window = load_be64(key.data());
  for (std::size_t at = 0; at < input.size() && at + 4 < key.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit)
      if ((input[at] & std::byte(0x80 >> bit)) != std::byte{0})
        hash ^= static_cast<std::uint32_t>(window >> (32 - bit));
    // the next byte of the key that is not in the window yet
    const std::size_t next = at + 8;
    window = window << 8 | (next < key.size() ? std::to_integer<std::uint64_t>(key[next]) : 0);
  }
  return hash;
}

std::uint32_t ReceiveHash::of(const ParsedFrame& frame) const {
  const bool inner = (fields & kHashInner) != 0;
  const HeaderFields& from = frame.key.stack[inner ? 1 : 0];
  const std::uint32_t layers = inner ? frame.layers >> kInnerShift : frame.layers & ((1U << kInnerShift) - 1);
  std::array<std::byte, 40> input{};
  std::size_t bytes = 0;
  const auto add = [&](std::uint32_t layer, std::uint32_t field, const void* at, std::size_t size) {
    if ((layers & layer) == 0 || (fields & field) == 0) return;
    std::memcpy(input.data() + bytes, at, size);
    bytes += size;
  };
  add(kIpv4, kHashSourceIpv4, from.source_ip.data(), 4);
  add(kIpv6, kHashSourceIpv6, from.source_ip.data(), 16);
  add(kIpv4, kHashDestinationIpv4, from.destination_ip.data(), 4);
  add(kIpv6, kHashDestinationIpv6, from.destination_ip.data(), 16);
  add(kTcp, kHashSourceTcp, &from.source_port, 2);
  add(kUdp, kHashSourceUdp, &from.source_port, 2);
  add(kTcp, kHashDestinationTcp, &from.destination_port, 2);
  add(kUdp, kHashDestinationUdp, &from.destination_port, 2);
  add(kEsp, kHashIpsecSpi, &from.esp_spi, 4);
  return toeplitz_hash(key, {input.data(), bytes});
}

}  // namespace softrnic::ethernet
