// The GID table of a port, kept from the addresses of its netdev.
//
// An address keeps its index as long as it exists; one that goes leaves an empty entry and gets it back
// when it returns before the place is taken. A fresh table begins with the link-local address, then the IPv4
// addresses, secondary ones last, then the others.
#pragma once

#include <array>
#include <vector>

#include "device/device_info.h"
#include "net/net_snapshot.h"

namespace softrnic::daemon {

class GidTable {
 public:
  static constexpr std::size_t kLength = 32;  ///< clients walk the whole table, so it is short

  /// Takes the addresses of the netdev, in the kernel's order. Addresses beyond the
  /// table's length are left out.
  void update(const std::vector<net::Address>& addresses);
  /// kLength entries; unused ones have a zero GID.
  std::vector<device::GidEntry> entries() const;
  /// All of them, in the order of a fresh table: for devices whose GIDs are no addresses.
  static std::vector<device::GidEntry> without_bound(const std::vector<net::Address>& addresses);

 private:
  struct Place {
    device::GidEntry entry;
    wire::Gid last;  ///< what stood here before it was emptied
  };
  void insert(const net::Address& address);
  Place* place_for(const wire::Gid& gid);
  bool holds_ipv4() const;

  std::array<Place, kLength> places_;
};

}  // namespace softrnic::daemon
