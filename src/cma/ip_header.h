// The addresses that lead the private data of REQ and SIDR_REQ (IBTA annex A11): 36 bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "cma/address.h"

namespace softrnic::cma {

struct IpHeader {
  static constexpr std::size_t kSize = 36;

  SocketAddress source;       ///< with the port; IPv4 or IPv6
  SocketAddress destination;  ///< of the same family; its port is that of the service ID and not in here

  /// `out` has at least kSize bytes.
  void write(MutableBytes out) const;
  /// Nothing when it is too short, of a version other than 0, or of an IP version other than 4 and 6.
  static std::optional<IpHeader> read(Bytes in);
};

}  // namespace softrnic::cma
