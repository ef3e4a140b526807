// The invariant CRC (IBTA 7.8.1; of RoCEv2 A17.3.2): Ethernet's CRC-32 over the packet with the fields that
// change on the way masked to ones. How it begins on an InfiniBand link: link_icrc.h.
//
// It is computed in pieces, so that a payload scattered over the application's memory never has to be
// gathered.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "wire/gid.h"
#include "wire/headers.h"

namespace softrnic::wire {

/// What the ICRC covers of the IP and UDP headers, and what a link needs to send a packet.
struct Flow {
  Gid source;
  Gid destination;
  std::uint16_t source_port = kDefaultSourcePort;
  std::uint16_t destination_port = 4791;
  std::uint8_t traffic_class = 0;  ///< masked in the ICRC
  std::uint8_t hop_limit = 64;     ///< masked in the ICRC
  std::uint32_t flow_label = 0;    ///< IPv6, masked in the ICRC

  static constexpr std::uint16_t kDefaultSourcePort = 0xc000;
};

/// The register after the masked headers below the BTH: all packets of a flow that have one length begin with
/// the same, but for the IPv4 identification.
class IcrcStart {
 public:
  IcrcStart() = default;
  /// For a UDP payload of `udp_payload` bytes (BTH to ICRC inclusive).
  IcrcStart(const Flow& flow, std::size_t udp_payload);

  /// `ip_id` is the IPv4 identification (DF set); ignored for IPv6.
  std::uint32_t state(std::uint16_t ip_id) const;

 private:
  std::uint32_t state_ = 0;  ///< with identification 0
  bool has_ip_id_ = false;
};

/// The start of the packets that came last: most are followed by one of their flow and length.
class LastIcrcStart {
 public:
  const IcrcStart& of(const Flow& flow, std::size_t udp_payload);

 private:
  Flow flow_;
  std::size_t udp_payload_ = 0;
  IcrcStart start_;
};

/// The register after eight bytes of ones: the LRH of a packet that is routed by its GRH or IP header,
/// masked.
inline constexpr std::uint32_t kIcrcAfterMaskedLrh = 0xdebb20e3;

/// A running ICRC.
class Icrc {
 public:
  /// `state` is the register after all that comes before the BTH.
  explicit Icrc(std::uint32_t state) : state_(state) {}
  Icrc(const Flow& flow, std::size_t udp_payload, std::uint16_t ip_id)
      : Icrc(IcrcStart(flow, udp_payload), ip_id) {}
  Icrc(const IcrcStart& start, std::uint16_t ip_id) : state_(start.state(ip_id)) {}

  /// Adds the transport headers: `headers` begins with the BTH, whose reserved byte 4 is masked. What follows
  /// the BTH may come along with it.
  void add_headers(Bytes headers);
  /// Adds a BTH that no other headers follow.
  void add_bth(std::span<const std::byte, kBthBytes> bth);
  /// Adds payload or pad.
  void add(Bytes bytes);
  /// The value as it is stored little-endian after the pad.
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_;
};

/// The IPv4 identification that turns the ICRC computed with identification 0 into the one received, if there
/// is one. The CRC is linear: the 16 unknown bits, `bytes_after` bytes before the end of what the CRC covers,
/// are solved for. Returns -1 when no identification explains the difference.
int solve_ip_id(std::uint32_t computed_with_zero, std::uint32_t received, std::size_t udp_payload);

}  // namespace softrnic::wire
