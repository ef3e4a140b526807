#include "wire/flow_control_packet.h"

#include <array>
#include <cstdio>

#include "wire/fields.h"
#include "wire/vcrc.h"

namespace softrnic::wire {
namespace {

using Fields = field::FlowControl;

constexpr std::array<std::string_view, 2> kOperationNames = {"normal", "init"};
constexpr std::array<std::string_view, 3> kErrorNames = {"bad length", "bad LPCRC", "reserved operation"};

// The bytes that the LPCRC covers.
constexpr std::size_t kCovered = kFlowControlPacketBytes - kVcrcBytes;

constexpr std::uint16_t joined(unsigned high, unsigned low) {
  return static_cast<std::uint16_t>((high & 0xf) << 12 | (low & kFlowControlMask));
}

}  // namespace

Expected<FlowControlPacket, FlowControlError> parse_flow_control_packet(Bytes bytes) {
  if (bytes.size() != kFlowControlPacketBytes) return Unexpected{FlowControlError::bad_length};
  const std::byte* const p = bytes.data();
  if (vcrc_of(bytes.first(kCovered)) != load_vcrc(p + kCovered)) return Unexpected{FlowControlError::bad_crc};
  const std::uint16_t sent = Fields::Sent::load(p);
  const std::uint16_t limit = Fields::Limit::load(p);
  if (sent >> 12 >= kOperationNames.size()) return Unexpected{FlowControlError::reserved_operation};
  FlowControlPacket packet;
  packet.operation = static_cast<FlowControlOperation>(sent >> 12);
  packet.fctbs = sent & kFlowControlMask;
  packet.vl = static_cast<std::uint8_t>(limit >> 12);
  packet.fccl = limit & kFlowControlMask;
  return packet;
}

void encode_flow_control_packet(const FlowControlPacket& packet,
                                std::span<std::byte, kFlowControlPacketBytes> out) {
  std::byte* const p = out.data();
  Fields::Sent::store(p, joined(static_cast<unsigned>(packet.operation), packet.fctbs));
  Fields::Limit::store(p, joined(packet.vl, packet.fccl));
  store_vcrc(p + kCovered, vcrc_of(out.first<kCovered>()));
}

std::string_view name_of(FlowControlOperation operation) {
  const auto index = static_cast<std::size_t>(operation);
  return index < kOperationNames.size() ? kOperationNames[index] : "";
}

std::string_view name_of(FlowControlError error) {
  const auto index = static_cast<std::size_t>(error);
  return index < kErrorNames.size() ? kErrorNames[index] : "";
}

std::string to_string(const FlowControlPacket& packet) {
  std::array<char, 80> line;
  const std::string_view name = name_of(packet.operation);
  std::snprintf(line.data(), line.size(), "%.*s VL %u FCTBS %u FCCL %u", static_cast<int>(name.size()),
                name.data(), unsigned{packet.vl}, unsigned{packet.fctbs}, unsigned{packet.fccl});
  return line.data();
}

}  // namespace softrnic::wire
