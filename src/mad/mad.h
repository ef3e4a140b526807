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
  subnet_directed_route = 0x81,
};

/// Methods (IBTA 13.4.5). The top bit marks a response.
enum class Method : std::uint8_t {
  get = 0x01,
  set = 0x02,
  send = 0x03,
  trap = 0x05,
  report = 0x06,
  trap_repress = 0x07,
  get_response = 0x81,
  report_response = 0x86,
};

/// Status, the bits that all classes share (IBTA 13.4.7). Bits 2–4 are one code.
enum class Status : std::uint16_t {
  ok = 0,
  busy = 1 << 0,
  redirect = 1 << 1,
  bad_version = 1 << 2,           ///< base or class version, or the combination
  bad_method = 2 << 2,            ///< method not supported
  bad_method_attribute = 3 << 2,  ///< combination of method and attribute not supported
  bad_attribute_value = 7 << 2,   ///< a value in the attribute or its modifier
};

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

/// The name of a value, "" for one without a name.
std::string_view name_of(ManagementClass management_class);
std::string_view name_of(Method method);

}  // namespace softrnic::mad
