#include "wire/icrc.h"

#include <algorithm>
#include <array>

#include "wire/crc32.h"
#include "wire/frame.h"

namespace softrnic::wire {
namespace {

constexpr std::byte kMasked{0xff};

// The register after the eight bytes of ones that stand for the masked LRH (IBTA A17.3.2).
constexpr std::uint32_t kAfterLrh = 0xdebb20e3;

// From the identification (bytes 4 and 5 of the IPv4 header) to the end of what the CRC covers.
constexpr std::size_t from_ip_id(std::size_t udp_payload) {
  return kIpv4Bytes - 4 + kUdpBytes + udp_payload - kIcrcBytes;
}

// The CRC is linear: what each byte of the identification adds to the register after the UDP header.
constexpr std::size_t kAfterIpId = kIpv4Bytes - 6 + kUdpBytes;

constexpr std::array<std::uint32_t, 256> contributions(std::size_t bytes_behind) {
  std::array<std::uint32_t, 256> out{};
  for (std::uint32_t b = 0; b < out.size(); ++b) out[b] = crc32_zeros(b, 1 + bytes_behind);
  return out;
}
constexpr auto kIpIdHigh = contributions(kAfterIpId + 1);
constexpr auto kIpIdLow = contributions(kAfterIpId);

// IPv4 with identification 0; type of service, time to live and checksum masked.
std::size_t masked_ipv4(const Flow& flow, std::size_t udp_payload, std::byte* p) {
  p[0] = std::byte{0x45};
  p[1] = kMasked;
  store_be16(p + 2, static_cast<std::uint16_t>(kIpv4Bytes + kUdpBytes + udp_payload));
  store_be16(p + 4, 0);       // see kIpIdHigh
  store_be16(p + 6, 0x4000);  // DF
  p[8] = kMasked;
  p[9] = std::byte{17};
  p[10] = p[11] = kMasked;
  std::copy_n(flow.source.raw.data() + 12, 4, p + 12);
  std::copy_n(flow.destination.raw.data() + 12, 4, p + 16);
  return kIpv4Bytes;
}

// IPv6 with traffic class, flow label and hop limit masked.
std::size_t masked_ipv6(const Flow& flow, std::size_t udp_payload, std::byte* p) {
  store_be32(p, 0x6fffffff);
  store_be16(p + 4, static_cast<std::uint16_t>(kUdpBytes + udp_payload));
  p[6] = std::byte{17};
  p[7] = kMasked;
  std::copy(flow.source.raw.begin(), flow.source.raw.end(), p + 8);
  std::copy(flow.destination.raw.begin(), flow.destination.raw.end(), p + 24);
  return kIpv6Bytes;
}

}  // namespace

IcrcStart::IcrcStart(const Flow& flow, std::size_t udp_payload) : has_ip_id_(flow.destination.is_ipv4()) {
  std::array<std::byte, kIpv6Bytes + kUdpBytes> masked;
  const std::size_t ip = has_ip_id_ ? masked_ipv4(flow, udp_payload, masked.data())
                                    : masked_ipv6(flow, udp_payload, masked.data());
  std::byte* udp = masked.data() + ip;
  store_be16(udp, flow.source_port);
  store_be16(udp + 2, flow.destination_port);
  store_be16(udp + 4, static_cast<std::uint16_t>(kUdpBytes + udp_payload));
  store_be16(udp + 6, 0xffff);
  state_ = crc32_update(kAfterLrh, Bytes(masked).first(ip + kUdpBytes));
}

std::uint32_t IcrcStart::state(std::uint16_t ip_id) const {
  return has_ip_id_ ? state_ ^ kIpIdHigh[ip_id >> 8] ^ kIpIdLow[ip_id & 0xff] : state_;
}

const IcrcStart& LastIcrcStart::of(const Flow& flow, std::size_t udp_payload) {
  const bool same = udp_payload == udp_payload_ && flow.source_port == flow_.source_port &&
                    flow.destination_port == flow_.destination_port && flow.source == flow_.source &&
                    flow.destination == flow_.destination;
  if (!same) {
    flow_ = flow;
    udp_payload_ = udp_payload;
    start_ = IcrcStart(flow, udp_payload);
  }
  return start_;
}

void Icrc::add_headers(Bytes headers) {
  if (headers.size() < kBthBytes) return add(headers);
  add_bth(headers.first<kBthBytes>());
  add(headers.subspan(kBthBytes));
}

void Icrc::add_bth(std::span<const std::byte, kBthBytes> bth) {
  std::array<std::byte, kBthBytes> masked;
  std::copy_n(bth.data(), masked.size(), masked.data());
  masked[4] = kMasked;
  state_ = crc32_update_12(state_, masked);
}

void Icrc::add(Bytes bytes) { state_ = crc32_update(state_, bytes); }

int solve_ip_id(std::uint32_t computed_with_zero, std::uint32_t received, std::size_t udp_payload) {
  if (udp_payload < kIcrcBytes) return -1;
  // What the identification xored into the register, run back to where its two bytes went in: they must be
  // all of it.
  const std::uint32_t bits = crc32_rewind(computed_with_zero ^ received, from_ip_id(udp_payload));
  if (bits > 0xffff) return -1;
  return __builtin_bswap16(static_cast<std::uint16_t>(bits));
}

}  // namespace softrnic::wire
