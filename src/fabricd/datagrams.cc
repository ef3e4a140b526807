#include "fabricd/datagrams.h"

#include <algorithm>

namespace softrnic::fabricd {
namespace {

wire::Gid own_gid(const fabric::ManagedPort& port, std::uint8_t index) {
  if (index >= port.guids.size()) return {};
  return mad::gid_of(port.info.gid_prefix, port.guids[index]);
}

std::uint8_t path_bits_of(const fabric::ManagedPort& port, wire::Lid lid) {
  if (!lid.is_unicast()) return 0;
  return static_cast<std::uint8_t>(lid.value & ((1U << port.info.lmc) - 1));
}

}  // namespace

fabric::Datagram datagram_to(const fabric::ManagedPort& port, mad::Queue queue, const mad::Peer& to,
                             Bytes mad) {
  fabric::Datagram datagram;
  datagram.slid = wire::Lid(static_cast<std::uint16_t>(port.info.lid.value | to.path_bits));
  datagram.dlid = wire::Lid(to.lid);
  datagram.sl = to.sl;
  if (to.has_grh) {
    wire::Grh& grh = datagram.grh.emplace();
    grh.traffic_class = to.traffic_class;
    grh.flow_label = to.flow_label;
    grh.hop_limit = to.hop_limit;
    grh.sgid = own_gid(port, to.gid_index);
    grh.dgid = to.gid;
  }
  const bool is_general = queue == mad::Queue::gsi;
  if (is_general && to.pkey_index < port.p_keys.size()) datagram.p_key = port.p_keys[to.pkey_index];
  datagram.source = is_general ? fabric::kGsiQpn : fabric::kSmiQpn;
  datagram.destination = to.qpn;
  datagram.q_key = is_general ? fabric::kGsiQkey : 0;
  std::copy_n(mad.begin(), std::min(mad.size(), datagram.mad.size()), datagram.mad.begin());
  return datagram;
}

fabric::Datagram datagram_to(const subnet::DatagramAddress& to, const mad::Mad& mad) {
  fabric::Datagram datagram;
  datagram.dlid = to.lid;
  datagram.sl = to.sl;
  if (to.has_grh) {
    wire::Grh& grh = datagram.grh.emplace();
    grh.traffic_class = to.traffic_class;
    grh.flow_label = to.flow_label;
    grh.hop_limit = to.hop_limit;
    grh.dgid = to.gid;
  }
  const bool is_general = to.qpn != subnet::kSmiQpn;
  if (is_general) datagram.p_key = to.p_key;
  datagram.source = is_general ? fabric::kGsiQpn : fabric::kSmiQpn;
  datagram.destination = to.qpn;
  datagram.q_key = is_general ? to.q_key : 0;
  datagram.mad = mad;
  return datagram;
}

mad::Peer peer_of(const fabric::ManagedPort& port, const fabric::Datagram& datagram) {
  mad::Peer peer;
  peer.qpn = datagram.source;
  peer.qkey = datagram.q_key;
  peer.lid = datagram.slid.value;
  peer.sl = datagram.sl;
  peer.path_bits = path_bits_of(port, datagram.dlid);
  peer.pkey_index = port.p_key_index_of(datagram.p_key);
  if (!datagram.grh) return peer;
  peer.has_grh = true;
  peer.hop_limit = datagram.grh->hop_limit;
  peer.traffic_class = datagram.grh->traffic_class;
  peer.flow_label = datagram.grh->flow_label;
  peer.gid = datagram.grh->sgid;
  for (std::uint8_t index = 0; index < port.guids.size(); ++index)
    if (own_gid(port, index) == datagram.grh->dgid) peer.gid_index = index;
  return peer;
}

subnet::DatagramAddress address_of(const fabric::Datagram& datagram) {
  subnet::DatagramAddress from;
  from.lid = datagram.slid;
  from.qpn = datagram.source;
  from.sl = datagram.sl;
  from.p_key = datagram.p_key;
  from.q_key = datagram.q_key;
  if (!datagram.grh) return from;
  from.has_grh = true;
  from.gid = datagram.grh->sgid;
  from.flow_label = datagram.grh->flow_label;
  from.traffic_class = datagram.grh->traffic_class;
  from.hop_limit = datagram.grh->hop_limit;
  return from;
}

}  // namespace softrnic::fabricd
