#include "mad/attributes.h"

#include <algorithm>
#include <iterator>

#include "mad/class_port_info.h"
#include "mad/diagnostics.h"
#include "mad/forwarding_tables.h"
#include "mad/guid_info.h"
#include "mad/inform_info.h"
#include "mad/node_info.h"
#include "mad/notice.h"
#include "mad/optional_counters.h"
#include "mad/p_key_table.h"
#include "mad/port_counters.h"
#include "mad/port_info.h"
#include "mad/port_samples.h"
#include "mad/sa_multicast_record.h"
#include "mad/sa_node_records.h"
#include "mad/sa_path_records.h"
#include "mad/sa_service_records.h"
#include "mad/sa_table_records.h"
#include "mad/sm_info.h"
#include "mad/switch_info.h"
#include "mad/virtual_lane_tables.h"

namespace softrnic::mad {
namespace {

using enum Method;

constexpr MethodSet kGet{get};
constexpr MethodSet kGetSet{get, set};
constexpr MethodSet kQuery{get, get_table};
constexpr MethodSet kRegister{get, set, get_table, delete_record};

constexpr AttributeInfo kSubnetManagement[] = {
    {Notice::kAttribute, "Notice", {get, set, trap, trap_repress}, Modifier::none},
    {NodeDescription::kAttribute, "NodeDescription", kGetSet, Modifier::none},
    {NodeInfo::kAttribute, "NodeInfo", kGet, Modifier::none},
    {SwitchInfo::kAttribute, "SwitchInfo", kGetSet, Modifier::none},
    {GuidInfo::kAttribute, "GUIDInfo", kGetSet, Modifier::block},
    {PortInfo::kAttribute, "PortInfo", kGetSet, Modifier::port},
    {PKeyTable::kAttribute, "P_KeyTable", kGetSet, Modifier::p_key_block},
    {SlToVlMappingTable::kAttribute, "SLtoVLMappingTable", kGetSet, Modifier::sl_to_vl_ports},
    {VlArbitrationTable::kAttribute, "VLArbitrationTable", kGetSet, Modifier::arbitration},
    {LinearForwardingTable::kAttribute, "LinearForwardingTable", kGetSet, Modifier::block},
    {RandomForwardingTable::kAttribute, "RandomForwardingTable", kGetSet, Modifier::block},
    {MulticastForwardingTable::kAttribute, "MulticastForwardingTable", kGetSet, Modifier::multicast_block},
    {0x001c, "LinkSpeedWidthPairsTable", kGet, Modifier::port},
    {0x001d, "VendorSpecificMadsTable", kGet, Modifier::block},
    {0x001e, "HierarchyInfo", kGetSet, Modifier::block},
    {SmInfo::kAttribute, "SMInfo", kGetSet, Modifier::sm_control},
    {VendorDiag::kAttribute, "VendorDiag", kGet, Modifier::vendor},
    {LedInfo::kAttribute, "LedInfo", kGetSet, Modifier::port},
    {0x0032, "CableInfo", kGet, Modifier::vendor},
    {PortInfoExtended::kAttribute, "PortInfoExtended", kGetSet, Modifier::port},
};

constexpr AttributeInfo kSubnetAdministration[] = {
    {ClassPortInfo::kAttribute, "ClassPortInfo", kGet, Modifier::none},
    {Notice::kAttribute, "Notice", {report}, Modifier::none},
    {InformInfo::kAttribute, "InformInfo", {set}, Modifier::none},
    {NodeRecord::kAttribute, "NodeRecord", kQuery, Modifier::none},
    {PortInfoRecord::kAttribute, "PortInfoRecord", kQuery, Modifier::port},
    {SlToVlMappingTableRecord::kAttribute, "SLtoVLMappingTableRecord", kQuery, Modifier::none},
    {SwitchInfoRecord::kAttribute, "SwitchInfoRecord", kQuery, Modifier::none},
    {LinearForwardingTableRecord::kAttribute, "LinearForwardingTableRecord", kQuery, Modifier::none},
    {RandomForwardingTableRecord::kAttribute, "RandomForwardingTableRecord", kQuery, Modifier::none},
    {MulticastForwardingTableRecord::kAttribute, "MulticastForwardingTableRecord", kQuery, Modifier::none},
    {SmInfoRecord::kAttribute, "SMInfoRecord", kQuery, Modifier::none},
    {0x0019, "LinkSpeedWidthPairsTableRecord", kQuery, Modifier::none},
    {LinkRecord::kAttribute, "LinkRecord", kQuery, Modifier::none},
    {GuidInfoRecord::kAttribute, "GuidInfoRecord", kRegister, Modifier::none},
    {ServiceRecord::kAttribute, "ServiceRecord", kRegister, Modifier::none},
    {PKeyTableRecord::kAttribute, "P_KeyTableRecord", kQuery, Modifier::none},
    {PathRecord::kAttribute, "PathRecord", kQuery, Modifier::none},
    {VlArbitrationTableRecord::kAttribute, "VLArbitrationTableRecord", kQuery, Modifier::none},
    {McMemberRecord::kAttribute, "MCMemberRecord", kRegister, Modifier::none},
    {0x0039, "TraceRecord", {get_trace_table}, Modifier::none},
    {MultiPathRecord::kAttribute, "MultiPathRecord", {get_multi}, Modifier::none},
    {0x003b, "ServiceAssociationRecord", kQuery, Modifier::none},
    {0x003c, "HierarchyInfoRecord", kQuery, Modifier::none},
    {0x003d, "CableInfoRecord", kQuery, Modifier::none},
    {0x003e, "PortInfoExtendedRecord", kQuery, Modifier::none},
    {InformInfoRecord::kAttribute, "InformInfoRecord", kQuery, Modifier::none},
};

constexpr AttributeInfo kPerformance[] = {
    {ClassPortInfo::kAttribute, "ClassPortInfo", kGetSet, Modifier::none},
    {PortSamplesControl::kAttribute, "PortSamplesControl", kGetSet, Modifier::none},
    {PortSamplesResult::kAttribute, "PortSamplesResult", kGet, Modifier::none},
    {PortCounters::kAttribute, "PortCounters", kGetSet, Modifier::none},
    {PortRcvErrorDetails::kAttribute, "PortRcvErrorDetails", kGetSet, Modifier::none},
    {PortXmitDiscardDetails::kAttribute, "PortXmitDiscardDetails", kGetSet, Modifier::none},
    {PortOpRcvCounters::kAttribute, "PortOpRcvCounters", kGetSet, Modifier::none},
    {PortFlowCtlCounters::kAttribute, "PortFlowCtlCounters", kGetSet, Modifier::none},
    {PortVlOpPackets::kAttribute, "PortVLOpPackets", kGetSet, Modifier::none},
    {PortVlOpData::kAttribute, "PortVLOpData", kGetSet, Modifier::none},
    {PortVlXmitFlowCtlUpdateErrors::kAttribute, "PortVLXmitFlowCtlUpdateErrors", kGetSet, Modifier::none},
    {PortVlXmitWaitCounters::kAttribute, "PortVLXmitWaitCounters", kGetSet, Modifier::none},
    {PortCountersExtended::kAttribute, "PortCountersExtended", kGetSet, Modifier::none},
    {PortSamplesResultExtended::kAttribute, "PortSamplesResultExtended", kGet, Modifier::none},
    {PortExtendedSpeedsCounters::kAttribute, "PortExtendedSpeedsCounters", kGetSet, Modifier::none},
    {SwPortVlCongestion::kAttribute, "SwPortVLCongestion", kGetSet, Modifier::none},
    {PortRcvConCtrl::kAttribute, "PortRcvConCtrl", kGetSet, Modifier::none},
    {PortSlRcvFecn::kAttribute, "PortSLRcvFECN", kGetSet, Modifier::none},
    {PortSlRcvBecn::kAttribute, "PortSLRcvBECN", kGetSet, Modifier::none},
    {PortXmitConCtrl::kAttribute, "PortXmitConCtrl", kGetSet, Modifier::none},
    {PortVlXmitTimeCong::kAttribute, "PortVLXmitTimeCong", kGetSet, Modifier::none},
    {PortXmitDataSl::kAttribute, "PortXmitDataSL", kGetSet, Modifier::none},
    {PortRcvDataSl::kAttribute, "PortRcvDataSL", kGetSet, Modifier::none},
};

struct ClassAttributes {
  ManagementClass management_class;
  std::span<const AttributeInfo> attributes;
};
constexpr ClassAttributes kClassAttributes[] = {
    {ManagementClass::subnet_lid_routed, kSubnetManagement},
    {ManagementClass::subnet_directed_route, kSubnetManagement},
    {ManagementClass::subnet_administration, kSubnetAdministration},
    {ManagementClass::performance, kPerformance},
};

}  // namespace

std::span<const AttributeInfo> attributes_of(ManagementClass management_class) {
  const auto* const found =
      std::ranges::find(kClassAttributes, management_class, &ClassAttributes::management_class);
  return found == std::end(kClassAttributes) ? std::span<const AttributeInfo>{} : found->attributes;
}

const AttributeInfo* find_attribute(ManagementClass management_class, std::uint16_t id) {
  const auto attributes = attributes_of(management_class);
  const auto found = std::ranges::find(attributes, id, &AttributeInfo::id);
  return found == attributes.end() ? nullptr : &*found;
}

}  // namespace softrnic::mad
