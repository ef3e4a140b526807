#include "wire/icrc.h"

#include <algorithm>
#include <array>

#include "wire/crc32.h"
#include "wire/frame.h"
#include "wire/headers.h"

namespace softrnic::wire {
namespace {

constexpr std::byte kMasked{0xff};

// The register after the eight bytes of ones that stand for the masked LRH (IBTA A17.3.2).
constexpr std::uint32_t kAfterLrh = 0xdebb20e3;

// From the identification (bytes 4 and 5 of the IPv4 header) to the end of what the CRC covers.
constexpr std::size_t from_ip_id(std::size_t udp_payload) {
  return kIpv4Bytes - 4 + kUdpBytes + udp_payload - kIcrcBytes;
}

// IPv4 with type of service, time to live and checksum masked.
std::size_t masked_ipv4(const Flow& flow, std::size_t udp_payload, std::uint16_t ip_id, std::byte* p) {
  p[0] = std::byte{0x45};
  p[1] = kMasked;
  store_be16(p + 2, static_cast<std::uint16_t>(kIpv4Bytes + kUdpBytes + udp_payload));
  store_be16(p + 4, ip_id);
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

Icrc::Icrc(const Flow& flow, std::size_t udp_payload, std::uint16_t ip_id) : state_(kAfterLrh) {
  const std::size_t ip = flow.destination.is_ipv4() ? masked_ipv4(flow, udp_payload, ip_id, buffer_.data())
                                                    : masked_ipv6(flow, udp_payload, buffer_.data());
  std::byte* udp = buffer_.data() + ip;
  store_be16(udp, flow.source_port);
  store_be16(udp + 2, flow.destination_port);
  store_be16(udp + 4, static_cast<std::uint16_t>(kUdpBytes + udp_payload));
  store_be16(udp + 6, 0xffff);
  pending_ = static_cast<std::uint32_t>(ip + kUdpBytes);
}

void Icrc::add_headers(Bytes headers) {
  std::array<std::byte, 8> start;
  if (headers.size() < start.size()) return add(headers);
  std::copy_n(headers.data(), start.size(), start.data());
  start[4] = kMasked;
  add(start);
  add(headers.subspan(start.size()));
}

void Icrc::add(Bytes bytes) {
  if (bytes.size() <= buffer_.size() - pending_) {
    std::copy(bytes.begin(), bytes.end(), buffer_.begin() + pending_);
    pending_ += static_cast<std::uint32_t>(bytes.size());
    return;
  }
  flush();
  state_ = crc32_update(state_, bytes);
}

void Icrc::flush() {
  state_ = crc32_update(state_, Bytes(buffer_).first(pending_));
  pending_ = 0;
}

std::uint32_t Icrc::value() const { return ~crc32_update(state_, Bytes(buffer_).first(pending_)); }

int solve_ip_id(std::uint32_t computed_with_zero, std::uint32_t received, std::size_t udp_payload) {
  if (udp_payload < kIcrcBytes) return -1;
  // What the identification xored into the register, run back to where its two bytes went in: they must be
  // all of it.
  const std::uint32_t bits = crc32_rewind(computed_with_zero ^ received, from_ip_id(udp_payload));
  if (bits > 0xffff) return -1;
  return __builtin_bswap16(static_cast<std::uint16_t>(bits));
}

}  // namespace softrnic::wire
