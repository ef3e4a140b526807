#include "fabric/trap_notices.h"

#include <algorithm>

namespace softrnic::fabric {
namespace {

mad::Notice make_notice(const ManagedNode& node, const ManagedPort& endport, mad::Trap trap) {
  const auto number = static_cast<std::uint16_t>(trap);
  const mad::TrapInfo* const info = mad::find_trap(number);
  mad::Notice notice;
  notice.type = info == nullptr ? mad::NoticeType::informational : info->type;
  notice.producer_type = static_cast<std::uint32_t>(node.info.node_type);
  notice.trap_number = number;
  notice.issuer_lid = endport.info.lid;
  return notice;
}

template <mad::Formatted Details>
mad::Notice make_notice(const ManagedNode& node, const ManagedPort& endport, mad::Trap trap,
                        const Details& details) {
  mad::Notice notice = make_notice(node, endport, trap);
  notice.set_details(details);
  return notice;
}

}  // namespace

mad::Notice link_state_notice(const ManagedNode& node) {
  const ManagedPort& endport = node.endport(0);
  return make_notice(node, endport, mad::Trap::link_state_changed,
                     mad::LinkStateDetails{.lid = endport.info.lid});
}

mad::Notice threshold_notice(const ManagedNode& node, mad::Trap trap, const ManagedPort& port) {
  const ManagedPort& endport = node.endport(port.number);
  return make_notice(node, endport, trap,
                     mad::ThresholdDetails{.lid = endport.info.lid, .port = port.number});
}

mad::Notice local_changes_notice(const ManagedNode& node, const ManagedPort& endport,
                                 mad::LocalChangesDetails changes) {
  changes.lid = endport.info.lid;
  changes.capability_mask = endport.info.capability_mask;
  changes.capability_mask2 = endport.info.capability_mask2;
  return make_notice(node, endport, mad::Trap::local_changes, changes);
}

mad::Notice system_image_guid_notice(const ManagedNode& node, const ManagedPort& endport) {
  return make_notice(
      node, endport, mad::Trap::system_image_guid_changed,
      mad::SystemImageGuidDetails{.lid = endport.info.lid, .system_image_guid = node.info.system_image_guid});
}

mad::Notice bad_m_key_notice(const ManagedNode& node, const ManagedPort& endport, const mad::Smp& smp,
                             wire::Lid slid) {
  mad::BadMKeyDetails details;
  details.lid = slid;
  details.method = static_cast<std::uint8_t>(smp.method);
  details.attribute = smp.attribute;
  details.modifier = smp.modifier;
  details.m_key = smp.m_key;
  if (smp.is_directed()) {
    const std::size_t hops = std::min<std::size_t>(smp.hop_count, mad::kMaxHops);
    const std::size_t told = std::min(hops, details.dr_return_path.size());
    details.dr_slid = smp.dr_slid;
    details.dr_notice = true;
    details.dr_path_truncated = told < hops;
    details.dr_hop_count = static_cast<std::uint8_t>(told);
    // Entry 0 is not used there, and has no place here: thirty hops fill it.
    std::copy_n(smp.return_path.begin() + 1, told, details.dr_return_path.begin());
  }
  return make_notice(node, endport, mad::Trap::bad_m_key, details);
}

mad::Notice bad_key_notice(const ManagedNode& node, const ManagedPort& endport, mad::Trap trap,
                           const mad::BadKeyDetails& details) {
  return make_notice(node, endport, trap, details);
}

mad::Notice switch_bad_p_key_notice(const ManagedNode& node, const ManagedPort& port,
                                    mad::SwitchBadPKeyDetails details) {
  const ManagedPort& endport = node.endport(0);
  details.switch_lid = endport.info.lid;
  details.port = port.number;
  return make_notice(node, endport, mad::Trap::bad_p_key_at_switch, details);
}

}  // namespace softrnic::fabric
