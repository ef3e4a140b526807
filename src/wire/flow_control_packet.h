// The flow control packet, a link packet: it goes from one end of a link to the other and has no LRH (IBTA
// 7.9.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/expected.h"

namespace softrnic::wire {

inline constexpr std::size_t kFlowControlPacketBytes = 6;
inline constexpr std::uint16_t kFlowControlMask = 0xfff;   ///< FCTBS and FCCL count modulo 4096
inline constexpr std::size_t kFlowControlBlockBytes = 64;  ///< what they count

/// Op, 4 bits; other values are reserved.
enum class FlowControlOperation : std::uint8_t {
  normal = 0,  ///< from a port in the state Armed or Active
  init = 1,    ///< from a port in the state Initialize
};

/// Flow control packet, 6 bytes.
///   Op(4) FCTBS(12) | VL(4) FCCL(12) | LPCRC(16)
struct FlowControlPacket {
  FlowControlOperation operation = FlowControlOperation::normal;
  std::uint16_t fctbs = 0;  ///< 12 bits: flow control total blocks sent
  std::uint8_t vl = 0;      ///< 4 bits
  std::uint16_t fccl = 0;   ///< 12 bits: flow control credit limit

  bool operator==(const FlowControlPacket&) const = default;
};

enum class FlowControlError : std::uint8_t {
  bad_length,          ///< not 6 bytes
  bad_crc,             ///< LPCRC
  reserved_operation,  ///< Op is neither 0 nor 1
};

Expected<FlowControlPacket, FlowControlError> parse_flow_control_packet(Bytes bytes);
/// Bits of a value beyond the width of its field are left out.
void encode_flow_control_packet(const FlowControlPacket& packet,
                                std::span<std::byte, kFlowControlPacketBytes> out);

std::string_view name_of(FlowControlOperation operation);
std::string_view name_of(FlowControlError error);
/// "normal VL 3 FCTBS 17 FCCL 145"; for people.
std::string to_string(const FlowControlPacket& packet);

}  // namespace softrnic::wire
