// Where a management datagram comes from or goes to: what the GSI needs to know of a path.
#pragma once

#include <cstdint>

#include "base/strong.h"
#include "wire/gid.h"
#include "wire/headers.h"
#include "wire/lid.h"

namespace softrnic::mad {

inline constexpr Qpn kGsiQpn{1};                       ///< general services use QP1
inline constexpr std::uint32_t kGsiQkey = 0x80010000;  ///< the well-known Q_Key of QP1

/// The address of a MAD as this side sees it, whichever way it travels: `local` is always ours.
struct Address {
  wire::Gid local;   ///< a GID of the adapter
  wire::Gid remote;  ///< the peer's
  /// Netdev of `local`; matters for link-local GIDs, 0: any that has it. InfiniBand: the port
  std::uint32_t interface_index = 0;
  Qpn remote_qpn = kGsiQpn;  ///< the peer's queue pair
  std::uint16_t pkey = wire::kDefaultPkey;
  std::uint32_t qkey = kGsiQkey;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;  ///< 20 bits; on RoCEv2 it chooses the UDP source port
  // InfiniBand, where a GID is Gid::of_lid() if there is no GRH; reserved and 0 elsewhere
  wire::Lid local_lid{};  ///< of the adapter's port, path bits included
  wire::Lid remote_lid{};
  std::uint8_t sl = 0;  ///< 4 bits

  bool operator==(const Address&) const = default;

  bool is_infiniband() const { return !remote_lid.is_reserved(); }

  /// Between the same two hosts. A link-local GID is one host's on its link alone; what a host sends to
  /// itself comes by whichever.
  bool joins_same_hosts(const Address& other) const {
    if (local != other.local || remote != other.remote) return false;
    if (!remote.is_link_local() || remote == local) return true;
    return interface_index == 0 || other.interface_index == 0 || interface_index == other.interface_index;
  }
};

}  // namespace softrnic::mad
