// Management datagrams: 256 bytes, of which the first 24 are the header that every class shares (IBTA
// 13.4.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/expected.h"

namespace softrnic::mad {

inline constexpr std::size_t kMadBytes = 256;
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::size_t kDataBytes = kMadBytes - kHeaderBytes;
inline constexpr std::uint8_t kBaseVersion = 1;

/// A whole datagram, header and data.
using Mad = std::array<std::byte, kMadBytes>;

/// Management classes (IBTA 13.4.4).
enum class ManagementClass : std::uint8_t {
  subnet_lid_routed = 0x01,
  subnet_administration = 0x03,
  performance = 0x04,
  baseboard = 0x05,
  device_management = 0x06,
  communication = 0x07,
  snmp_tunneling = 0x08,
  device_administration = 0x10,
  boot_management = 0x11,
  bis = 0x12,
  congestion_control = 0x21,
  openib_ping = 0x32,     ///< of the second vendor range, OUI 0x001405: ibping
  openib_sysstat = 0x33,  ///< likewise: ibsysstat
  subnet_directed_route = 0x81,
};

/// Classes of vendors; those of the second range carry an OUI (IBTA 16.5).
constexpr bool is_vendor_range1(ManagementClass management_class) {
  return management_class >= ManagementClass{0x09} && management_class <= ManagementClass{0x0f};
}
constexpr bool is_vendor_range2(ManagementClass management_class) {
  return management_class >= ManagementClass{0x30} && management_class <= ManagementClass{0x4f};
}

/// Methods (IBTA 13.4.5, of subnet administration 15.2.2). The top bit marks a response.
enum class Method : std::uint8_t {
  get = 0x01,
  set = 0x02,
  send = 0x03,
  trap = 0x05,
  report = 0x06,
  trap_repress = 0x07,
  get_table = 0x12,
  get_trace_table = 0x13,
  get_multi = 0x14,
  delete_record = 0x15,
  get_response = 0x81,
  report_response = 0x86,
  get_table_response = 0x92,
  get_trace_table_response = 0x93,
  get_multi_response = 0x94,
  delete_response = 0x95,
};

/// The method that answers a request; of a method without an answer (Send, a response) itself.
constexpr Method response_to(Method method) {
  if (method == Method::set) return Method::get_response;
  if (method == Method::trap) return Method::trap_repress;
  if (method == Method::send || method == Method::trap_repress) return method;
  return static_cast<Method>(static_cast<std::uint8_t>(method) | 0x80);
}

/// Status, the bits that all classes share (IBTA 13.4.7). Bits 2–4 are one code, kStatusCode; the upper byte,
/// kStatusOfClass, is the class's own.
enum class Status : std::uint16_t {
  ok = 0,
  busy = 1 << 0,
  redirect = 1 << 1,
  bad_version = 1 << 2,           ///< base or class version, or the combination
  bad_method = 2 << 2,            ///< method not supported
  bad_method_attribute = 3 << 2,  ///< combination of method and attribute not supported
  bad_attribute_value = 7 << 2,   ///< a value in the attribute or its modifier
};
inline constexpr std::uint16_t kStatusCode = 0x001c;
inline constexpr std::uint16_t kStatusOfClass = 0xff00;

/// The upper byte of the status in subnet administration (IBTA 15.2.3).
enum class SaStatus : std::uint8_t {
  ok = 0,
  no_resources = 1,
  invalid_request = 2,
  no_records = 3,
  too_many_records = 4,  ///< of a Get, which has room for one
  invalid_gid = 5,
  insufficient_components = 6,
  denied = 7,
  priority_suggested = 8,
};
constexpr std::uint16_t status_of(SaStatus status) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(status) << 8);
}

/// Attribute that every class answers (IBTA 13.4.8.1)
inline constexpr std::uint16_t kClassPortInfo = 0x0001;

/// The common header; the numbers in host order.
struct Header {
  std::uint8_t base_version = kBaseVersion;
  ManagementClass management_class{};
  std::uint8_t class_version = 0;
  Method method{};
  std::uint16_t status = 0;  ///< Status
  std::uint16_t class_specific = 0;
  std::uint64_t transaction = 0;  ///< a response repeats the one of its request
  std::uint16_t attribute = 0;
  std::uint16_t reserved = 0;  ///< kept so that every MAD re-encodes to the same bytes
  std::uint32_t modifier = 0;

  bool operator==(const Header&) const = default;
};

enum class ParseError : std::uint8_t {
  bad_length,   ///< not 256 bytes
  bad_version,  ///< the base version is not 1
};

/// Reads the header of a whole datagram.
Expected<Header, ParseError> parse_header(Bytes mad);

/// Writes the header to the start of `out`, which is at least kHeaderBytes long.
void encode_header(const Header& header, MutableBytes out);

/// The name of a value as libibumad gives it (umad_class_str and its like), "" for one without a name.
std::string_view name_of(ManagementClass management_class);
std::string_view name_of(Method method);
std::string_view name_of(Status status);
std::string_view name_of(SaStatus status);

/// Of a whole status field: what all classes share, and the byte of the class. What is busy or redirected is
/// that before all else.
Status common_status(std::uint16_t status);
constexpr SaStatus sa_status(std::uint16_t status) { return static_cast<SaStatus>(status >> 8); }

}  // namespace softrnic::mad
