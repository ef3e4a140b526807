// Management datagrams of the fabric in the words of those who send and receive them: agents of programs
// (mad::Peer), and the subnet manager (subnet::DatagramAddress).
#pragma once

#include "fabric/managed_node.h"
#include "fabric/management_datagram.h"
#include "mad/peer.h"
#include "subnet/datagrams.h"

namespace softrnic::fabricd {

/// From an endport to `to`, by the queue pair of `queue`. P_Key and GID index are of the port's tables, which
/// have them.
fabric::Datagram datagram_to(const fabric::ManagedPort& port, mad::Queue queue, const mad::Peer& to,
                             Bytes mad);
fabric::Datagram datagram_to(const subnet::DatagramAddress& to, const mad::Mad& mad);

/// Whom a datagram that came to an endport is from.
mad::Peer peer_of(const fabric::ManagedPort& port, const fabric::Datagram& datagram);
subnet::DatagramAddress address_of(const fabric::Datagram& datagram);

inline mad::Queue queue_of(const fabric::Datagram& datagram) {
  return datagram.destination == fabric::kSmiQpn ? mad::Queue::smi : mad::Queue::gsi;
}

}  // namespace softrnic::fabricd
