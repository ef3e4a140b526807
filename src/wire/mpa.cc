#include "wire/mpa.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "wire/iwarp_fields.h"

namespace softrnic::wire {
namespace {

// RFC 5044 7.1.1
constexpr std::string_view kKeys[] = {"MPA ID Req Frame", "MPA ID Rep Frame"};
constexpr std::size_t kKeyBytes = 16;

constexpr std::uint8_t kMarkers = 0x80, kCrc = 0x40, kReject = 0x20, kEnhanced = 0x10, kLongFpdus = 0x08,
                       kReserved = 0x07;
// RFC 6581 6
constexpr std::uint16_t kFirstFlag = 0x8000, kSecondFlag = 0x4000, kValue = 0x3fff;

/// Not the same in both, see MpaFrame.
constexpr std::uint8_t extensions_bit(MpaFrameKind kind) {
  return kind == MpaFrameKind::request ? 0x04 : 0x02;
}

std::string_view key_of(MpaFrameKind kind) { return kKeys[static_cast<std::size_t>(kind)]; }

}  // namespace

bool begins_mpa_frame(MpaFrameKind kind, Bytes bytes) {
  return std::memcmp(bytes.data(), key_of(kind).data(), std::min(bytes.size(), kKeyBytes)) == 0;
}

Expected<MpaFrame, MpaFrameError> parse_mpa_frame(MpaFrameKind kind, Bytes bytes) {
  using F = field::MpaFrame;
  const std::byte* const p = bytes.data();
  if (bytes.size() < kMpaFrameBytes || !begins_mpa_frame(kind, bytes))
    return Unexpected{MpaFrameError::wrong_key};
  const std::uint8_t flags = F::Flags::load(p);
  MpaFrame frame;
  frame.kind = kind;
  frame.markers = (flags & kMarkers) != 0;
  frame.crc = (flags & kCrc) != 0;
  frame.reject = (flags & kReject) != 0;
  frame.enhanced = (flags & kEnhanced) != 0;
  frame.long_fpdus = (flags & kLongFpdus) != 0;
  frame.extensions = (flags & extensions_bit(kind)) != 0;
  frame.reserved = static_cast<std::uint8_t>(flags & kReserved & ~extensions_bit(kind));
  frame.revision = F::Revision::load(p);
  frame.private_bytes = F::PrivateDataLength::load(p);
  const bool too_short = frame.revision > 1 && frame.enhanced && frame.private_bytes < kMpaEnhancedBytes;
  if (frame.private_bytes > kMpaPrivateBytes || too_short)
    return Unexpected{MpaFrameError::private_data_length};
  return frame;
}

void encode(const MpaFrame& frame, MutableBytes out) {
  using F = field::MpaFrame;
  std::memcpy(out.data(), key_of(frame.kind).data(), kKeyBytes);
  F::Flags::store(out.data(),
                  static_cast<std::uint8_t>(
                      (frame.markers ? kMarkers : 0) | (frame.crc ? kCrc : 0) | (frame.reject ? kReject : 0) |
                      (frame.enhanced ? kEnhanced : 0) | (frame.long_fpdus ? kLongFpdus : 0) |
                      (frame.extensions ? extensions_bit(frame.kind) : 0) | (frame.reserved & kReserved)));
  F::Revision::store(out.data(), frame.revision);
  F::PrivateDataLength::store(out.data(), frame.private_bytes);
}

MpaEnhanced parse_mpa_enhanced(Bytes bytes) {
  const std::uint16_t ird = field::MpaEnhanced::Ird::load(bytes.data());
  const std::uint16_t ord = field::MpaEnhanced::Ord::load(bytes.data());
  MpaEnhanced enhanced;
  enhanced.peer_to_peer = (ird & kFirstFlag) != 0;
  enhanced.rtr = static_cast<std::uint8_t>(((ird & kSecondFlag) != 0 ? kRtrSend : 0) |
                                           ((ord & kFirstFlag) != 0 ? kRtrWrite : 0) |
                                           ((ord & kSecondFlag) != 0 ? kRtrRead : 0));
  enhanced.ird = ird & kValue;
  enhanced.ord = ord & kValue;
  return enhanced;
}

void encode(const MpaEnhanced& enhanced, MutableBytes out) {
  const auto word = [](bool first, bool second, std::uint16_t value) {
    return static_cast<std::uint16_t>((first ? kFirstFlag : 0) | (second ? kSecondFlag : 0) |
                                      (value & kValue));
  };
  const std::uint8_t rtr = enhanced.rtr;
  field::MpaEnhanced::Ird::store(out.data(),
                                 word(enhanced.peer_to_peer, (rtr & kRtrSend) != 0, enhanced.ird));
  field::MpaEnhanced::Ord::store(out.data(),
                                 word((rtr & kRtrWrite) != 0, (rtr & kRtrRead) != 0, enhanced.ord));
}

void encode_marker(std::uint16_t back, MutableBytes out) {
  field::MpaMarker::Reserved::store(out.data(), 0);
  field::MpaMarker::FpduPointer::store(out.data(), back);
}

std::uint16_t parse_marker(Bytes bytes) { return field::MpaMarker::FpduPointer::load(bytes.data()); }

}  // namespace softrnic::wire
