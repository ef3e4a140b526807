// The details of the traps of subnet management: 54 bytes of a notice (IBTA 14.2.5.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/strong.h"
#include "mad/field.h"
#include "mad/guid.h"
#include "wire/gid.h"
#include "wire/lid.h"

namespace softrnic::mad {

inline constexpr std::size_t kTrapDetailsBytes = 54;

/// Traps 64 to 67: the port that came or went, the group that was created or deleted.
struct GidDetails {
  std::array<std::byte, 6> reserved0{};
  wire::Gid gid{};
};
template <>
inline constexpr std::array fields_of<GidDetails> = {
    field<&GidDetails::reserved0>("reserved0", 0, 0, 48),
    field<&GidDetails::gid>("gid", 6, 0, 128),
};
static_assert(covers<GidDetails>(22));

/// Traps 68 and 69: the paths that are no longer valid, or new. The mask is of a path record, which has no
/// place among these bytes.
struct PathDetails {
  std::uint64_t component_mask = 0;
  bool wait_for_repath = false;
  std::uint8_t reserved8 = 0;  ///< 7 bits
};
template <>
inline constexpr std::array fields_of<PathDetails> = {
    field<&PathDetails::component_mask>("component_mask", 0, 0, 64),
    field<&PathDetails::wait_for_repath>("wait_for_repath", 8, 0, 1),
    field<&PathDetails::reserved8>("reserved8", 8, 1, 7),
};
static_assert(covers<PathDetails>(9));

/// Trap 128: a port of the switch changed its state.
struct LinkStateDetails {
  wire::Lid lid{};
};
template <>
inline constexpr std::array fields_of<LinkStateDetails> = {
    field<&LinkStateDetails::lid>("lid", 0, 0, 16),
};
static_assert(covers<LinkStateDetails>(2));

/// Traps 129 to 131: a threshold was reached at the port.
struct ThresholdDetails {
  std::uint16_t reserved0 = 0;
  wire::Lid lid{};
  std::uint8_t port = 0;
};
template <>
inline constexpr std::array fields_of<ThresholdDetails> = {
    field<&ThresholdDetails::reserved0>("reserved0", 0, 0, 16),
    field<&ThresholdDetails::lid>("lid", 2, 0, 16),
    field<&ThresholdDetails::port>("port", 4, 0, 8),
};
static_assert(covers<ThresholdDetails>(5));

/// Trap 144: the capability mask changed or, with `other_local_changes`, what the flags say.
struct LocalChangesDetails {
  std::uint16_t reserved0 = 0;
  wire::Lid lid{};
  std::uint8_t reserved4 = 0;
  std::uint8_t reserved5 = 0;  ///< 7 bits
  bool other_local_changes = false;
  std::uint32_t capability_mask = 0;
  std::uint16_t reserved10 = 0;  ///< 10 bits
  bool capability_mask2_change = false;
  bool hierarchy_info_change = false;
  bool sm_priority_change = false;
  bool link_speed_enabled_change = false;
  bool link_width_enabled_change = false;
  bool node_description_change = false;
  std::uint16_t capability_mask2 = 0;
};
template <>
inline constexpr std::array fields_of<LocalChangesDetails> = {
    field<&LocalChangesDetails::reserved0>("reserved0", 0, 0, 16),
    field<&LocalChangesDetails::lid>("lid", 2, 0, 16),
    field<&LocalChangesDetails::reserved4>("reserved4", 4, 0, 8),
    field<&LocalChangesDetails::reserved5>("reserved5", 5, 0, 7),
    field<&LocalChangesDetails::other_local_changes>("other_local_changes", 5, 7, 1),
    field<&LocalChangesDetails::capability_mask>("capability_mask", 6, 0, 32),
    field<&LocalChangesDetails::reserved10>("reserved10", 10, 0, 10),
    field<&LocalChangesDetails::capability_mask2_change>("capability_mask2_change", 11, 2, 1),
    field<&LocalChangesDetails::hierarchy_info_change>("hierarchy_info_change", 11, 3, 1),
    field<&LocalChangesDetails::sm_priority_change>("sm_priority_change", 11, 4, 1),
    field<&LocalChangesDetails::link_speed_enabled_change>("link_speed_enabled_change", 11, 5, 1),
    field<&LocalChangesDetails::link_width_enabled_change>("link_width_enabled_change", 11, 6, 1),
    field<&LocalChangesDetails::node_description_change>("node_description_change", 11, 7, 1),
    field<&LocalChangesDetails::capability_mask2>("capability_mask2", 12, 0, 16),
};
static_assert(covers<LocalChangesDetails>(14));

/// Trap 145.
struct SystemImageGuidDetails {
  std::uint16_t reserved0 = 0;
  wire::Lid lid{};
  std::uint16_t reserved4 = 0;
  Guid system_image_guid{};
};
template <>
inline constexpr std::array fields_of<SystemImageGuidDetails> = {
    field<&SystemImageGuidDetails::reserved0>("reserved0", 0, 0, 16),
    field<&SystemImageGuidDetails::lid>("lid", 2, 0, 16),
    field<&SystemImageGuidDetails::reserved4>("reserved4", 4, 0, 16),
    field<&SystemImageGuidDetails::system_image_guid>("system_image_guid", 6, 0, 64),
};
static_assert(covers<SystemImageGuidDetails>(14));

/// Trap 256: an SMP came with the wrong M_Key. `lid` is its source; the path is that of a directed route.
struct BadMKeyDetails {
  std::uint16_t reserved0 = 0;
  wire::Lid lid{};
  wire::Lid dr_slid{};
  std::uint8_t method = 0;
  std::uint8_t reserved7 = 0;
  std::uint16_t attribute = 0;
  std::uint32_t modifier = 0;
  std::uint64_t m_key = 0;
  std::uint8_t reserved22 = 0;
  bool dr_notice = false;          ///< the SMP had a directed route
  bool dr_path_truncated = false;  ///< its return path was longer than 30
  std::uint8_t dr_hop_count = 0;   ///< 6 bits
  std::array<std::uint8_t, 30> dr_return_path{};
};
template <>
inline constexpr std::array fields_of<BadMKeyDetails> = {
    field<&BadMKeyDetails::reserved0>("reserved0", 0, 0, 16),
    field<&BadMKeyDetails::lid>("lid", 2, 0, 16),
    field<&BadMKeyDetails::dr_slid>("dr_slid", 4, 0, 16),
    field<&BadMKeyDetails::method>("method", 6, 0, 8),
    field<&BadMKeyDetails::reserved7>("reserved7", 7, 0, 8),
    field<&BadMKeyDetails::attribute>("attribute", 8, 0, 16),
    field<&BadMKeyDetails::modifier>("modifier", 10, 0, 32),
    field<&BadMKeyDetails::m_key>("m_key", 14, 0, 64),
    field<&BadMKeyDetails::reserved22>("reserved22", 22, 0, 8),
    field<&BadMKeyDetails::dr_notice>("dr_notice", 23, 0, 1),
    field<&BadMKeyDetails::dr_path_truncated>("dr_path_truncated", 23, 1, 1),
    field<&BadMKeyDetails::dr_hop_count>("dr_hop_count", 23, 2, 6),
    field<&BadMKeyDetails::dr_return_path>("dr_return_path", 24, 0, 240),
};
static_assert(covers<BadMKeyDetails>(54));

/// Traps 257 and 258: a packet from 1 to 2 had the wrong P_Key or Q_Key.
struct BadKeyDetails {
  std::uint16_t reserved0 = 0;
  wire::Lid lid1{};
  wire::Lid lid2{};
  std::uint32_t key = 0;  ///< a P_Key in the low 16 bits
  std::uint8_t sl = 0;    ///< 4 bits
  std::uint8_t reserved10 = 0;
  Qpn qp1{};
  std::uint8_t reserved14 = 0;
  Qpn qp2{};
  wire::Gid gid1{};
  wire::Gid gid2{};
};
template <>
inline constexpr std::array fields_of<BadKeyDetails> = {
    field<&BadKeyDetails::reserved0>("reserved0", 0, 0, 16),
    field<&BadKeyDetails::lid1>("lid1", 2, 0, 16),
    field<&BadKeyDetails::lid2>("lid2", 4, 0, 16),
    field<&BadKeyDetails::key>("key", 6, 0, 32),
    field<&BadKeyDetails::sl>("sl", 10, 0, 4),
    field<&BadKeyDetails::reserved10>("reserved10", 10, 4, 4),
    field<&BadKeyDetails::qp1>("qp1", 11, 0, 24),
    field<&BadKeyDetails::reserved14>("reserved14", 14, 0, 8),
    field<&BadKeyDetails::qp2>("qp2", 15, 0, 24),
    field<&BadKeyDetails::gid1>("gid1", 18, 0, 128),
    field<&BadKeyDetails::gid2>("gid2", 34, 0, 128),
};
static_assert(covers<BadKeyDetails>(50));

/// Trap 259: the same at a port of a switch. `data_valid` has a bit for each field that is known.
struct SwitchBadPKeyDetails {
  std::uint16_t data_valid = 0;
  wire::Lid lid1{};
  wire::Lid lid2{};
  std::uint16_t p_key = 0;
  std::uint8_t sl = 0;  ///< 4 bits
  std::uint8_t reserved8 = 0;
  Qpn qp1{};
  std::uint8_t reserved12 = 0;
  Qpn qp2{};
  wire::Gid gid1{};
  wire::Gid gid2{};
  wire::Lid switch_lid{};
  std::uint8_t port = 0;
};
template <>
inline constexpr std::array fields_of<SwitchBadPKeyDetails> = {
    field<&SwitchBadPKeyDetails::data_valid>("data_valid", 0, 0, 16),
    field<&SwitchBadPKeyDetails::lid1>("lid1", 2, 0, 16),
    field<&SwitchBadPKeyDetails::lid2>("lid2", 4, 0, 16),
    field<&SwitchBadPKeyDetails::p_key>("p_key", 6, 0, 16),
    field<&SwitchBadPKeyDetails::sl>("sl", 8, 0, 4),
    field<&SwitchBadPKeyDetails::reserved8>("reserved8", 8, 4, 4),
    field<&SwitchBadPKeyDetails::qp1>("qp1", 9, 0, 24),
    field<&SwitchBadPKeyDetails::reserved12>("reserved12", 12, 0, 8),
    field<&SwitchBadPKeyDetails::qp2>("qp2", 13, 0, 24),
    field<&SwitchBadPKeyDetails::gid1>("gid1", 16, 0, 128),
    field<&SwitchBadPKeyDetails::gid2>("gid2", 32, 0, 128),
    field<&SwitchBadPKeyDetails::switch_lid>("switch_lid", 48, 0, 16),
    field<&SwitchBadPKeyDetails::port>("port", 50, 0, 8),
};
static_assert(covers<SwitchBadPKeyDetails>(51));

}  // namespace softrnic::mad
