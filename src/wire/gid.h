// Global identifiers: 128-bit addresses that are IPv6 addresses, or IPv4-mapped ones, on RoCEv2 (IBTA
// A17.4.5).
//
// On InfiniBand an address may be a LID alone. So that who compares and looks up addresses has one kind of
// them, a LID has a GID that stands for it here and never on a wire.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "wire/lid.h"

namespace softrnic::wire {

struct Gid {
  std::array<std::byte, 16> raw{};

  auto operator<=>(const Gid&) const = default;
  /// Asked of every packet: as two words, not byte by byte.
  bool operator==(const Gid& other) const {
    return std::memcmp(raw.data(), other.raw.data(), sizeof raw) == 0;
  }

  /// ::ffff:a.b.c.d
  bool is_ipv4() const;
  /// ff00::/8, or an IPv4-mapped multicast address
  bool is_multicast() const;
  bool is_zero() const { return *this == Gid{}; }
  /// fe80::/10
  bool is_link_local() const;
  /// The IPv4 address in network byte order; 0 when not is_ipv4().
  std::uint32_t ipv4_be() const;
  /// Its four bytes; requires is_ipv4().
  const std::byte* ipv4_bytes() const { return raw.data() + 12; }
  /// The first and the last eight bytes as numbers in host order, as figures of a reason.
  std::uint64_t high_half() const;
  std::uint64_t low_half() const;
  static Gid from_ipv4_be(std::uint32_t address);
  /// What stands for a LID: of the prefix 100::/64, which reaches nobody (RFC 6666).
  static Gid of_lid(Lid lid);
  bool is_lid() const;
  /// Requires is_lid().
  Lid lid() const;
  /// 127.0.0.1
  static Gid ipv4_loopback();
  /// 127.0.0.0/8, IPv4-mapped
  bool is_ipv4_loopback() const { return is_ipv4() && *ipv4_bytes() == std::byte{127}; }
  /// "fe80::1", "::ffff:10.0.0.1" or "LID 0x0007"
  std::string to_string() const;
};

}  // namespace softrnic::wire
