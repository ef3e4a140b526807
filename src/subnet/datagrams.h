// How management datagrams leave the port that the subnet manager is on, and where those that come are from.
#pragma once

#include <cstdint>

#include "base/strong.h"
#include "mad/address.h"
#include "mad/mad.h"
#include "subnet/graph.h"
#include "wire/gid.h"
#include "wire/headers.h"
#include "wire/lid.h"

namespace softrnic::subnet {

/// Subnet management goes by QP0 and VL15 (IBTA 13.5), all other classes by QP1.
inline constexpr Qpn kSmiQpn{0};

/// The other end of a datagram.
struct DatagramAddress {
  Lid lid = wire::kPermissiveLid;  ///< permissive: a directed route that begins or ends at this port
  Qpn qpn = kSmiQpn;               ///< theirs; kSmiQpn: subnet management
  std::uint8_t sl = 0;
  std::uint16_t p_key = wire::kDefaultPkey;  ///< not of subnet management
  std::uint32_t q_key = mad::kGsiQkey;       ///< not of subnet management
  bool has_grh = false;                      ///< what follows means something
  wire::Gid gid{};                           ///< theirs
  std::uint32_t flow_label = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;

  bool operator==(const DatagramAddress&) const = default;
};

/// Where datagrams go out. They may be lost, as any are.
class DatagramPort {
 public:
  virtual ~DatagramPort() = default;
  /// Does not come back into the caller.
  virtual void send(const DatagramAddress& to, const mad::Mad& mad) = 0;
};

}  // namespace softrnic::subnet
