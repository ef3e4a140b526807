#include "net/net_snapshot.h"

#include <algorithm>
#include <iterator>

namespace softrnic::net {

const Netdev* NetSnapshot::find(std::uint32_t index) const {
  const auto it =
      std::find_if(netdevs.begin(), netdevs.end(), [index](const Netdev& n) { return n.index == index; });
  return it == netdevs.end() ? nullptr : &*it;
}

const Netdev* NetSnapshot::find(const std::string& name) const {
  const auto it =
      std::find_if(netdevs.begin(), netdevs.end(), [&name](const Netdev& n) { return n.name == name; });
  return it == netdevs.end() ? nullptr : &*it;
}

std::vector<Address> NetSnapshot::addresses_of(std::uint32_t index) const {
  std::vector<Address> found;
  std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(found),
               [index](const Address& a) { return a.interface_index == index; });
  return found;
}

}  // namespace softrnic::net
