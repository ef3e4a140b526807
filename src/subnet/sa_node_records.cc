#include "subnet/sa_node_records.h"

namespace softrnic::subnet {
namespace {

/// Of PortInfoRecord's Options: LinkSpeed fields are to be given as they are, though a port is faster than
/// they can say (IBTA 15.2.5.3).
constexpr std::uint8_t kOnlyOwnSpeeds = 0x80;
constexpr std::uint8_t kQdr = static_cast<std::uint8_t>(mad::LinkSpeed::qdr);
/// In the attribute modifier of a query: of CapabilityMask the bits that are set are to be set (IBTA
/// 15.2.5.3).
constexpr std::uint32_t kMatchBits = 1U << 31;

/// Calls `visit(at, port)` for each end port that the requester may hear of.
template <typename Visit>
void for_each_end_port(const SaView& view, const SaRequest& request, Visit&& visit) {
  for (const NodePort at : view.database.topology.end_ports)
    if (view.may_see(request.requester, at)) visit(at, view.database.subnet.at(at));
}

bool is_extended(const mad::PortInfo& info) { return info.link_speed_ext_active != mad::LinkSpeedExt::none; }

// Those who know no extended speeds are told the fastest that they know.
void add_qdr(mad::PortInfo& info) {
  info.link_speed_enabled |= kQdr;
  info.link_speed_supported |= kQdr;
  info.link_speed_active =
      static_cast<mad::LinkSpeed>(static_cast<std::uint8_t>(info.link_speed_active) | kQdr);
}

// Selected by whole fields, or by those of their bits that are set.
class PortQuery {
 public:
  PortQuery(const SaView& view, const SaRequest& request, SaRecords& out)
      : view_(view), query_(request, out), own_speeds_(only_own_speeds(request)) {
    query_.wanted.endport_lid = view.base_lid(query_.wanted.endport_lid);
    if ((request.header.modifier & kMatchBits) == 0) return;
    constexpr std::uint64_t kBits = mad::component<mad::PortInfoRecord>("capability_mask");
    constexpr std::uint64_t kBits2 = mad::component<mad::PortInfoRecord>("capability_mask2");
    if (request.has(kBits)) bits_ = query_.wanted.port_info.capability_mask;
    if (request.has(kBits2)) bits2_ = query_.wanted.port_info.capability_mask2;
    query_.mask &= ~(kBits | kBits2);
  }

  void add(NodePort at, const mad::PortInfo& info) {
    if ((info.capability_mask & bits_) != bits_ || (info.capability_mask2 & bits2_) != bits2_) return;
    mad::PortInfoRecord record;
    record.endport_lid = view_.lid_of(at);
    record.port_num = at.port;
    record.options = query_.wanted.options;
    record.port_info = info;
    if (!mad::matches(query_.mask & ~mad::component<mad::PortInfoRecord>("options"), query_.wanted, record))
      return;
    if (!own_speeds_ && is_extended(info)) add_qdr(record.port_info);
    query_.take(record);
  }

 private:
  static bool only_own_speeds(const SaRequest& request) {
    return request.has(mad::component<mad::PortInfoRecord>("options")) &&
           (request.record<mad::PortInfoRecord>().options & kOnlyOwnSpeeds) != 0;
  }

  const SaView& view_;
  SaQuery<mad::PortInfoRecord> query_;
  std::uint32_t bits_ = 0;
  std::uint16_t bits2_ = 0;
  bool own_speeds_;
};

}  // namespace

void query_nodes(const SaView& view, const SaRequest& request, SaRecords& out) {
  SaQuery<mad::NodeRecord> query(request, out);
  query.wanted.lid = view.base_lid(query.wanted.lid);
  for_each_end_port(view, request, [&](NodePort at, const PhysicalPort& port) {
    const Node& node = view.database.subnet.at(at.node);
    mad::NodeRecord record;
    record.lid = view.lid_of(at);
    record.node_info = node.info;
    record.node_info.port_guid = port.guid;
    record.node_info.local_port_num = node.is_switch() ? node.entry : at.port;
    record.node_description = node.description;
    query.add(record);
  });
}

void query_ports(const SaView& view, const SaRequest& request, SaRecords& out) {
  PortQuery query(view, request, out);
  const Subnet& subnet = view.database.subnet;
  for_each_end_port(view, request, [&](NodePort at, const PhysicalPort& port) {
    query.add(at, port.info);
    if (!subnet.at(at.node).is_switch()) return;
    for (std::size_t number = 1; number < subnet.at(at.node).ports.size(); ++number) {
      const NodePort external{at.node, static_cast<std::uint8_t>(number)};
      if (subnet.at(external).is_known) query.add(external, subnet.at(external).info);
    }
  });
}

void query_switches(const SaView& view, const SaRequest& request, SaRecords& out) {
  SaQuery<mad::SwitchInfoRecord> query(request, out);
  query.wanted.lid = view.base_lid(query.wanted.lid);
  for_each_end_port(view, request, [&](NodePort at, const PhysicalPort&) {
    const Node& node = view.database.subnet.at(at.node);
    if (node.is_switch()) query.add({.lid = view.lid_of(at), .switch_info = node.switch_info});
  });
}

void query_guids(const SaView& view, const SaRequest& request, SaRecords& out) {
  SaQuery<mad::GuidInfoRecord> query(request, out);
  query.wanted.lid = view.base_lid(query.wanted.lid);
  for_each_end_port(view, request, [&](NodePort at, const PhysicalPort& port) {
    constexpr std::size_t kBlock = mad::GuidInfo::kBlock;
    for (std::size_t block = 0; block * kBlock < port.guids.size(); ++block) {
      mad::GuidInfoRecord record;
      record.lid = view.lid_of(at);
      record.block_num = static_cast<std::uint8_t>(block);
      std::copy_n(port.guids.begin() + static_cast<std::ptrdiff_t>(block * kBlock), kBlock,
                  record.guid_info.guids.begin());
      query.add(record);
    }
  });
}

void query_links(const SaView& view, const SaRequest& request, SaRecords& out) {
  SaQuery<mad::LinkRecord> query(request, out);
  query.wanted.from_lid = view.base_lid(query.wanted.from_lid);
  query.wanted.to_lid = view.base_lid(query.wanted.to_lid);
  view.database.subnet.for_each_port([&](NodePort at, const PhysicalPort& port) {
    if (!port.is_linked()) return;
    const mad::LinkRecord record{view.lid_of(at), at.port, port.peer.port, view.lid_of(port.peer)};
    if (!mad::matches(query.mask, query.wanted, record)) return;
    const bool sees = view.may_see(request.requester, at) && view.may_see(request.requester, port.peer);
    if (sees && view.may_see(at, port.peer)) out.add(record);
  });
}

void query_managers(const SaView& view, const SaRequest& request, const mad::SmInfo& own, SaRecords& out) {
  SaQuery<mad::SmInfoRecord> query(request, out);
  query.wanted.lid = view.base_lid(query.wanted.lid);
  const auto add = [&](NodePort at, mad::SmInfo info) {
    if (!view.may_see(request.requester, at)) return;
    // The key opens the administrator to whoever knows it.
    info.sm_key = 0;
    query.add({.lid = view.lid_of(at), .sm_info = info});
  };
  add(view.database.subnet.self, own);
  for (const RemoteManager& manager : view.database.subnet.managers) add(manager.port, manager.info);
}

}  // namespace softrnic::subnet
