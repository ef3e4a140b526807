// A packet on its way in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "transport/ib/types.h"
#include "wire/headers.h"

namespace softrnic::ib {

/// Memory that the payload of a packet is still to be fetched from.
class PayloadSource {
 public:
  /// Copies bytes [offset, offset + size) of the payload. False: they are not to be had, or not any more.
  virtual bool copy(std::size_t offset, std::byte* to, std::size_t size) = 0;

 protected:
  ~PayloadSource() = default;
};

/// A payload on its way in.
struct Payload {
  Bytes bytes;                      ///< without a source
  PayloadSource* source = nullptr;  ///< of `size` bytes, from `offset` on
  std::size_t size = 0;
  std::size_t offset = 0;

  /// Without its first `count` bytes, which it has.
  Payload behind(std::size_t count) const {
    return {source != nullptr ? bytes : bytes.subspan(count), source, size - count, offset + count};
  }
};

/// A packet on its way in, ICRC verified.
struct RxPacket {
  wire::Packet packet;
  wire::Gid source;
  wire::Gid destination;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;
  std::uint32_t interface_index = 0;  ///< netdev or InfiniBand port that it came in by; 0: unknown
  // of the LRH; 0 elsewhere. Without a GRH `source` and `destination` are Gid::of_lid()
  wire::Lid slid;
  wire::Lid dlid;
  std::uint8_t service_level = 0;

  bool is_infiniband() const { return !slid.is_reserved(); }
  bool has_global_route() const { return !source.is_lid(); }

  std::uint32_t packets = 1;            ///< in a row, see TxPacket; several only if wire::joinable()
  PayloadSource* rendezvous = nullptr;  ///< has the payload, when it is not in `packet`
  std::size_t rendezvous_bytes = 0;
  std::size_t rendezvous_offset = 0;
  wire::Opcode first_opcode{};  ///< of several that the link has put together: that of the first
  /// and the payload of each but the last, which has no more; 0: the link has not, they are of the path MTU
  std::uint32_t first_bytes = 0;

  std::size_t payload_bytes() const {
    return rendezvous != nullptr ? rendezvous_bytes : packet.payload.size();
  }
  Payload payload() const { return {packet.payload, rendezvous, payload_bytes(), rendezvous_offset}; }
  /// Whether the payload of each packet that it stands for is as long as its opcode wants it (IBTA
  /// 9.7.4.1.6).
  bool lengths_fit(std::uint32_t path_mtu) const;
  /// The packet, or the first of those put together, as it was on the wire: for explanations, as it gives
  /// the peer's path MTU away.
  wire::Opcode wire_opcode() const { return first_bytes != 0 ? first_opcode : packet.info->opcode; }
  std::size_t wire_bytes() const { return first_bytes != 0 ? first_bytes : payload_bytes(); }
  /// What it is without its first `count` packets, which have come before. Nothing: it has none behind them.
  std::optional<RxPacket> behind(std::uint64_t count, std::uint32_t path_mtu) const;
};

}  // namespace softrnic::ib
