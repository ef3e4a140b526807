// What a multicast GID tells of its group: the signature in its bytes 2 and 3, the scope in its byte 1.
#pragma once

#include <cstdint>

namespace softrnic::wire {

inline constexpr std::uint16_t kIpv4Signature = 0x401b;           ///< RFC 4391 §4
inline constexpr std::uint16_t kIpv6Signature = 0x601b;           ///< RFC 4391 §4
inline constexpr std::uint16_t kAdministratorSignature = 0xa01b;  ///< made by the SA, IBTA 15.2.5.17
inline constexpr unsigned kLinkLocalScope = 2;                    ///< RFC 4291 §2.7

}  // namespace softrnic::wire
