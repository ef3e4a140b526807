// Notice: what ports and subnet managers report, as a trap, in a report or when asked (IBTA 13.4.8.2), and
// the traps of subnet management with their details (IBTA 14.2.5.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mad/field.h"
#include "mad/trap_details.h"
#include "wire/gid.h"
#include "wire/lid.h"

namespace softrnic::mad {

enum class NoticeType : std::uint8_t {
  fatal = 0,
  urgent = 1,
  security = 2,
  subnet_management = 3,
  informational = 4,
  empty = 0x7f,
};

/// Of generic notices: NodeType, or this.
inline constexpr std::uint32_t kProducerClassManager = 4;

enum class Trap : std::uint16_t {
  gid_in_service = 64,
  gid_out_of_service = 65,
  multicast_group_created = 66,
  multicast_group_deleted = 67,
  path_invalid = 68,     ///< UnPath
  path_recomputed = 69,  ///< RePath
  link_state_changed = 128,
  local_link_integrity = 129,
  excessive_buffer_overrun = 130,
  flow_control_watchdog = 131,
  local_changes = 144,
  system_image_guid_changed = 145,
  bad_m_key = 256,
  bad_p_key = 257,
  bad_q_key = 258,
  bad_p_key_at_switch = 259,
};

/// In an SMP its 64 bytes end before `issuer_gid`.
struct Notice {
  static constexpr std::uint16_t kAttribute = 0x0002;
  static constexpr std::size_t kSmpBytes = 64;

  bool is_generic = true;  ///< else of a vendor
  NoticeType type = NoticeType::empty;
  std::uint32_t producer_type = 0;  ///< generic: NodeType or class manager; else vendor id; 24 bits
  std::uint16_t trap_number = 0;    ///< generic: Trap; else device id
  wire::Lid issuer_lid{};
  bool toggle = false;      ///< of notices that are read: changes with each new one
  std::uint16_t count = 0;  ///< 15 bits: notices waiting to be read
  std::array<std::byte, kTrapDetailsBytes> data_details{};
  wire::Gid issuer_gid{};

  /// Reads or writes the details as those of a trap: details_as<BadKeyDetails>().
  template <Formatted D>
  D details_as() const {
    static_assert(kBytesOf<D> <= kTrapDetailsBytes);
    return decode<D>(data_details);
  }
  template <Formatted D>
  void set_details(const D& details) {
    static_assert(kBytesOf<D> <= kTrapDetailsBytes);
    data_details = {};
    encode(details, data_details);
  }
};
template <>
inline constexpr std::array fields_of<Notice> = {
    field<&Notice::is_generic>("is_generic", 0, 0, 1),
    field<&Notice::type>("type", 0, 1, 7),
    field<&Notice::producer_type>("producer_type", 1, 0, 24),
    field<&Notice::trap_number>("trap_number", 4, 0, 16),
    field<&Notice::issuer_lid>("issuer_lid", 6, 0, 16),
    field<&Notice::toggle>("toggle", 8, 0, 1),
    field<&Notice::count>("count", 8, 1, 15),
    field<&Notice::data_details>("data_details", 10, 0, 432),
    field<&Notice::issuer_gid>("issuer_gid", 64, 0, 128),
};
static_assert(covers<Notice>(80));

/// What there is to know of a trap of subnet management.
struct TrapInfo {
  Trap number;
  NoticeType type;
  std::string_view text;
  std::string (*print)(Bytes details);
};
/// nullptr of other numbers.
const TrapInfo* find_trap(std::uint16_t number);
/// "Bad M_Key (256) lid=0x4 …": for people.
std::string describe(const Notice& notice);

}  // namespace softrnic::mad
