// To whom a datagram rsocket sends: the peers whose QPN it has learned.
#pragma once

#include <chrono>
#include <list>
#include <unordered_map>

#include "rsocket/datagram_endpoint.h"

namespace softrnic::rsocket {

/// A peer. By UD it is reached when both its QPN and a path are known.
struct Destination {
  InetAddress address;
  DatagramEndpoint* from = nullptr;
  std::uint32_t qpn = 0;    ///< 0: not told yet
  AddressHandlePtr handle;  ///< no path yet
  std::size_t most = 0;     ///< bytes of a datagram with its header, by that path
  bool connected = false;   ///< the rsocket's peer

  // ---- of PathResolver
  IdPtr resolving;
  std::chrono::steady_clock::time_point not_before{};  ///< for the next try

  bool ready() const { return handle != nullptr && qpn != 0; }
  bool may_be_forgotten() const { return !connected && resolving == nullptr; }
};

/// The socket's lock guards it. Anybody who reaches the UDP port can make entries; so there are at most
/// kMost, of which the one that was not used for longest goes.
class Destinations {
 public:
  static constexpr std::size_t kMost = 4096;

  /// nullptr: there is none. From then on it is the last to be forgotten.
  Destination* find(const InetAddress& address);
  /// One that is not there yet. Valid until it is forgotten.
  Destination& add(const InetAddress& address, DatagramEndpoint& from);
  std::size_t size() const { return order_.size(); }

 private:
  std::list<Destination> order_;  ///< the last used first
  std::unordered_map<InetAddress, std::list<Destination>::iterator, InetAddressHash> by_address_;
};

}  // namespace softrnic::rsocket
