#include "wire/icrc.h"

#include <algorithm>
#include <array>

#include "wire/crc32.h"
#include "wire/fields.h"
#include "wire/frame.h"

namespace softrnic::wire {
namespace {

constexpr std::uint8_t kMasked = 0xff;

// From the identification (bytes 4 and 5 of the IPv4 header) to the end of what the CRC covers.
constexpr std::size_t from_ip_id(std::size_t udp_payload) {
  return kIpv4Bytes - field::Ipv4::Id::kOffset + kUdpBytes + udp_payload - kIcrcBytes;
}

// The CRC is linear: what each byte of the identification adds to the register after the UDP header.
constexpr std::size_t kAfterIpId = kIpv4Bytes - field::Ipv4::Fragment::kOffset + kUdpBytes;

constexpr std::array<std::uint32_t, 256> contributions(std::size_t bytes_behind) {
  std::array<std::uint32_t, 256> out{};
  for (std::uint32_t b = 0; b < out.size(); ++b) out[b] = crc32_zeros(b, 1 + bytes_behind);
  return out;
}
constexpr auto kIpIdHigh = contributions(kAfterIpId + 1);
constexpr auto kIpIdLow = contributions(kAfterIpId);

// IPv4 with identification 0; type of service, time to live and checksum masked.
std::size_t masked_ipv4(const Flow& flow, std::size_t udp_payload, std::byte* p) {
  using Fields = field::Ipv4;
  Fields::VersionAndLength::store(p, 0x45);
  Fields::TrafficClass::store(p, kMasked);
  Fields::TotalLength::store(p, static_cast<std::uint16_t>(kIpv4Bytes + kUdpBytes + udp_payload));
  Fields::Id::store(p, 0);             // see kIpIdHigh
  Fields::Fragment::store(p, 0x4000);  // DF
  Fields::TimeToLive::store(p, kMasked);
  Fields::Protocol::store(p, kProtocolUdp);
  Fields::Checksum::store(p, 0xffff);
  std::copy_n(flow.source.ipv4_bytes(), Fields::kAddressBytes, p + Fields::kSource);
  std::copy_n(flow.destination.ipv4_bytes(), Fields::kAddressBytes, p + Fields::kDestination);
  return kIpv4Bytes;
}

// IPv6 with traffic class, flow label and hop limit masked.
std::size_t masked_ipv6(const Flow& flow, std::size_t udp_payload, std::byte* p) {
  using Fields = field::Ipv6;
  Fields::Flow::store(p, 0x6fffffff);
  Fields::PayloadLength::store(p, static_cast<std::uint16_t>(kUdpBytes + udp_payload));
  Fields::NextHeader::store(p, kProtocolUdp);
  Fields::HopLimit::store(p, kMasked);
  std::copy(flow.source.raw.begin(), flow.source.raw.end(), p + Fields::kSource);
  std::copy(flow.destination.raw.begin(), flow.destination.raw.end(), p + Fields::kDestination);
  return kIpv6Bytes;
}

}  // namespace

IcrcStart::IcrcStart(const Flow& flow, std::size_t udp_payload) : has_ip_id_(flow.destination.is_ipv4()) {
  std::array<std::byte, kIpv6Bytes + kUdpBytes> masked;
  const std::size_t ip = has_ip_id_ ? masked_ipv4(flow, udp_payload, masked.data())
                                    : masked_ipv6(flow, udp_payload, masked.data());
  std::byte* udp = masked.data() + ip;
  field::Udp::SourcePort::store(udp, flow.source_port);
  field::Udp::DestinationPort::store(udp, flow.destination_port);
  field::Udp::Length::store(udp, static_cast<std::uint16_t>(kUdpBytes + udp_payload));
  field::Udp::Checksum::store(udp, 0xffff);
  state_ = crc32_update(kIcrcAfterMaskedLrh, Bytes(masked).first(ip + kUdpBytes));
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
  field::Bth::Congestion::store(masked.data(), kMasked);
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
