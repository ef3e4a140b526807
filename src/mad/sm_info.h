// SMInfo: subnet managers tell one another who is master (IBTA 14.2.5.13, 14.4.1).
#pragma once

#include <array>
#include <cstdint>

#include "mad/field.h"
#include "mad/guid.h"

namespace softrnic::mad {

enum class SmState : std::uint8_t { not_active = 0, discovering = 1, standby = 2, master = 3 };

struct SmInfo {
  static constexpr std::uint16_t kAttribute = 0x0020;
  /// The attribute modifier of a Set.
  enum class Control : std::uint32_t {
    handover = 1,
    acknowledge = 2,
    disable = 3,
    standby = 4,
    discover = 5
  };

  Guid guid{};  ///< of the port that the manager is on
  std::uint64_t sm_key = 0;
  std::uint32_t activity_count = 0;  ///< grows as long as the manager lives
  std::uint8_t priority = 0;         ///< 4 bits; 15 is the highest
  SmState state = SmState::not_active;
};
template <>
inline constexpr std::array fields_of<SmInfo> = {
    field<&SmInfo::guid>("guid", 0, 0, 64),
    field<&SmInfo::sm_key>("sm_key", 8, 0, 64),
    field<&SmInfo::activity_count>("activity_count", 16, 0, 32),
    field<&SmInfo::priority>("priority", 20, 0, 4),
    field<&SmInfo::state>("state", 20, 4, 4),
};
static_assert(covers<SmInfo>(21));

}  // namespace softrnic::mad
