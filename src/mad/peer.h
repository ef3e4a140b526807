// The other end of a management datagram, as a port and its agents see it: an address vector (IBTA 11.2.2.1),
// in the form in which programs give it (struct ib_mad_addr of <infiniband/umad.h>).
#pragma once

#include <cstdint>

#include "base/strong.h"
#include "mad/address.h"
#include "wire/gid.h"

namespace softrnic::mad {

/// Which of a port's special queue pairs: QP0 or QP1.
enum class Queue : std::uint8_t { smi = 0, gsi = 1 };

/// All numbers in host order.
struct Peer {
  Qpn qpn = kGsiQpn;
  std::uint32_t qkey = kGsiQkey;
  std::uint16_t lid = 0;
  std::uint8_t sl = 0;
  std::uint8_t path_bits = 0;  ///< of our LID
  bool has_grh = false;        ///< the fields below count
  std::uint8_t gid_index = 0;  ///< of our GID
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;  ///< 20 bits
  wire::Gid gid{};               ///< the peer's
  std::uint16_t pkey_index = 0;  ///< counts with and without GRH

  bool operator==(const Peer&) const = default;
};

}  // namespace softrnic::mad
