#include "mad/notice.h"

#include <algorithm>

namespace softrnic::mad {
namespace {

template <typename Details>
std::string print(Bytes details) {
  return to_string(decode<Details>(details));
}

constexpr auto kUrgent = NoticeType::urgent;
constexpr auto kSecurity = NoticeType::security;
constexpr auto kManagement = NoticeType::subnet_management;
constexpr auto kInformational = NoticeType::informational;

constexpr TrapInfo kTraps[] = {
    {Trap::gid_in_service, kManagement, "GID in service", print<GidDetails>},
    {Trap::gid_out_of_service, kManagement, "GID out of service", print<GidDetails>},
    {Trap::multicast_group_created, kManagement, "multicast group created", print<GidDetails>},
    {Trap::multicast_group_deleted, kManagement, "multicast group deleted", print<GidDetails>},
    {Trap::path_invalid, kManagement, "path no longer valid", print<PathDetails>},
    {Trap::path_recomputed, kManagement, "path recomputed", print<PathDetails>},
    {Trap::link_state_changed, kUrgent, "link state changed", print<LinkStateDetails>},
    {Trap::local_link_integrity, kUrgent, "local link integrity threshold reached", print<ThresholdDetails>},
    {Trap::excessive_buffer_overrun, kUrgent, "excessive buffer overrun threshold reached",
     print<ThresholdDetails>},
    {Trap::flow_control_watchdog, kUrgent, "flow control update watchdog timer expired",
     print<ThresholdDetails>},
    {Trap::local_changes, kInformational, "local changes", print<LocalChangesDetails>},
    {Trap::system_image_guid_changed, kInformational, "SystemImageGUID changed",
     print<SystemImageGuidDetails>},
    {Trap::bad_m_key, kSecurity, "bad M_Key", print<BadMKeyDetails>},
    {Trap::bad_p_key, kSecurity, "bad P_Key", print<BadKeyDetails>},
    {Trap::bad_q_key, kSecurity, "bad Q_Key", print<BadKeyDetails>},
    {Trap::bad_p_key_at_switch, kSecurity, "bad P_Key at a switch", print<SwitchBadPKeyDetails>},
};

}  // namespace

const TrapInfo* find_trap(std::uint16_t number) {
  const auto* const found = std::ranges::find(kTraps, static_cast<Trap>(number), &TrapInfo::number);
  return found == std::end(kTraps) ? nullptr : found;
}

std::string describe(const Notice& notice) {
  const TrapInfo* const trap = notice.is_generic ? find_trap(notice.trap_number) : nullptr;
  if (trap == nullptr) return to_string(notice);
  return std::string(trap->text) + " (" + std::to_string(notice.trap_number) + ") " +
         trap->print(notice.data_details);
}

}  // namespace softrnic::mad
