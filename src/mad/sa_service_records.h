// ServiceRecord and InformInfoRecord: what ports have registered with subnet administration (IBTA 15.2.5.12,
// 15.2.5.14).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mad/field.h"
#include "mad/inform_info.h"
#include "wire/gid.h"

namespace softrnic::mad {

/// The data have a bit of the component mask for each element.
struct ServiceRecord {
  static constexpr std::uint16_t kAttribute = 0x0031;

  std::uint64_t service_id = 0;
  wire::Gid service_gid{};
  std::uint16_t service_p_key = 0;
  std::uint16_t reserved26 = 0;
  std::uint32_t service_lease = 0;  ///< seconds; 0xffffffff: without end
  std::array<std::byte, 16> service_key{};
  std::array<char, 64> service_name{};  ///< UTF-8, not always terminated
  std::array<std::uint8_t, 16> service_data8{};
  std::array<std::uint16_t, 8> service_data16{};
  std::array<std::uint32_t, 4> service_data32{};
  std::array<std::uint64_t, 2> service_data64{};
};
template <>
inline constexpr std::array fields_of<ServiceRecord> = {
    field<&ServiceRecord::service_id>("service_id", 0, 0, 64),
    field<&ServiceRecord::service_gid>("service_gid", 8, 0, 128),
    field<&ServiceRecord::service_p_key>("service_p_key", 24, 0, 16),
    field<&ServiceRecord::reserved26>("reserved26", 26, 0, 16),
    field<&ServiceRecord::service_lease>("service_lease", 28, 0, 32),
    field<&ServiceRecord::service_key>("service_key", 32, 0, 128),
    field<&ServiceRecord::service_name>("service_name", 48, 0, 512),
    field<&ServiceRecord::service_data8>("service_data8", 112, 0, 128).each(),
    field<&ServiceRecord::service_data16>("service_data16", 128, 0, 128).each(),
    field<&ServiceRecord::service_data32>("service_data32", 144, 0, 128).each(),
    field<&ServiceRecord::service_data64>("service_data64", 160, 0, 128).each(),
};
static_assert(covers<ServiceRecord>(176));

struct InformInfoRecord {
  static constexpr std::uint16_t kAttribute = 0x00f3;

  wire::Gid subscriber_gid{};
  std::uint16_t enumeration = 0;  ///< tells subscriptions of one port apart
  std::array<std::byte, 6> reserved18{};
  InformInfo inform_info{};
};
template <>
inline constexpr std::array fields_of<InformInfoRecord> = {
    field<&InformInfoRecord::subscriber_gid>("subscriber_gid", 0, 0, 128),
    field<&InformInfoRecord::enumeration>("enumeration", 16, 0, 16),
    field<&InformInfoRecord::reserved18>("reserved18", 18, 0, 48),
    field<&InformInfoRecord::inform_info>("inform_info", 24, 0, 288),
};
static_assert(covers<InformInfoRecord>(60));

}  // namespace softrnic::mad
