#include "fabric/subnet_management_agent.h"

#include <algorithm>
#include <iterator>

#include "fabric/m_key.h"
#include "fabric/sma_attributes.h"
#include "mad/diagnostics.h"
#include "mad/forwarding_tables.h"
#include "mad/guid_info.h"
#include "mad/notice.h"
#include "mad/p_key_table.h"
#include "mad/virtual_lane_tables.h"

namespace softrnic::fabric {
namespace {

constexpr std::uint8_t kSmpClassVersion = 1;

enum class Nodes : std::uint8_t { all, switches };

struct SmaAttribute {
  std::uint16_t id;
  Nodes nodes;
  SmaGet get;
  SmaSet set;  ///< nullptr: read-only
};

// What is not here (Notice, RandomForwardingTable, SMInfo without a manager, CableInfo, extensions) the node
// does not have, and its capability masks say so.
constexpr SmaAttribute kAttributes[] = {
    {mad::NodeDescription::kAttribute, Nodes::all, get_node_description, set_node_description},
    {mad::NodeInfo::kAttribute, Nodes::all, get_node_info, nullptr},
    {mad::SwitchInfo::kAttribute, Nodes::switches, get_switch_info, set_switch_info},
    {mad::GuidInfo::kAttribute, Nodes::all, get_guid_info, set_guid_info},
    {mad::PortInfo::kAttribute, Nodes::all, get_port_info, set_port_info},
    {mad::PKeyTable::kAttribute, Nodes::all, get_p_key_table, set_p_key_table},
    {mad::SlToVlMappingTable::kAttribute, Nodes::all, get_sl_to_vl, set_sl_to_vl},
    {mad::VlArbitrationTable::kAttribute, Nodes::all, get_vl_arbitration, set_vl_arbitration},
    {mad::LinearForwardingTable::kAttribute, Nodes::switches, get_linear_forwarding_table,
     set_linear_forwarding_table},
    {mad::MulticastForwardingTable::kAttribute, Nodes::switches, get_multicast_forwarding_table,
     set_multicast_forwarding_table},
    {mad::VendorDiag::kAttribute, Nodes::all, get_vendor_diag, nullptr},
    {mad::LedInfo::kAttribute, Nodes::all, get_led_info, set_led_info},
};

const SmaAttribute* find_attribute(const ManagedNode& node, std::uint16_t id) {
  const auto* const found = std::ranges::find(kAttributes, id, &SmaAttribute::id);
  if (found == std::end(kAttributes)) return nullptr;
  return found->nodes == Nodes::switches && !node.is_switch() ? nullptr : found;
}

// A Set is answered with what is there afterwards, or with itself where one attribute cannot show that.
mad::Status serve(const SmaRequest& request, mad::Smp& answer) {
  const bool sets = request.smp.method == mad::Method::set;
  if (!sets && request.smp.method != mad::Method::get) return mad::Status::bad_method;
  const SmaAttribute* const attribute = find_attribute(request.node, request.smp.attribute);
  if (attribute == nullptr || (sets && attribute->set == nullptr)) {
    return mad::Status::bad_method_attribute;
  }
  const mad::Status status = sets ? attribute->set(request, request.smp.data) : mad::Status::ok;
  std::array<std::byte, mad::kSmpDataBytes> data{};
  const mad::Status got = attribute->get(request, data);
  if (got == mad::Status::ok) answer.data = data;
  return sets ? status : got;
}

}  // namespace

ManagedPort* SmaRequest::port(std::size_t number) const {
  if (number > kMaxPorts) return nullptr;
  if (number == 0 && !node.is_switch()) return &endport();
  return node.port(static_cast<std::uint8_t>(number));
}

SmaOutcome SubnetManagementAgent::answer(ManagedNode& node, std::uint8_t in_port, mad::Smp& smp,
                                         TimePoint now) {
  if (node.port(in_port) == nullptr) return SmaOutcome::nothing_to_say;
  ManagedPort& endport = node.endport(in_port);
  mad::Status status = mad::Status::bad_version;
  if (smp.base_version == mad::kBaseVersion && smp.class_version == kSmpClassVersion) {
    if (!admit_by_m_key(endport, smp, now)) return SmaOutcome::bad_m_key;
    if (smp.method == mad::Method::trap_repress) return SmaOutcome::trap_repressed;
    const mad::Smp asked = smp;
    status = serve({engine_, events_, node, in_port, asked}, smp);
  }
  smp.method = mad::Method::get_response;
  smp.status = static_cast<std::uint16_t>(status);
  return SmaOutcome::answered;
}

}  // namespace softrnic::fabric
