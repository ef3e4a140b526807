#include "wire/infiniband_frame.h"

#include <algorithm>
#include <array>

#include "wire/link_icrc.h"
#include "wire/print.h"

namespace softrnic::wire {
namespace {

using Error = InfinibandFrameError;

constexpr std::array<std::string_view, 10> kErrorNames = {
    "too short",         "bad link version", "no InfiniBand transport",
    "bad packet length", "bad GRH version",  "bad GRH next header",
    "bad GRH length",    "unknown opcode",   "bad transport version",
    "bad pad",
};
static_assert(kErrorNames.size() == static_cast<std::size_t>(Error::bad_pad) + 1);
// By ParseError.
constexpr std::array kTransportErrors = {Error::too_short, Error::unknown_opcode,
                                         Error::bad_transport_version, Error::bad_pad};

std::size_t route_bytes(bool global) { return kLrhBytes + (global ? kGrhBytes : 0); }

// `behind` is all from the GRH to the ICRC inclusive.
Expected<Grh, Error> parse_grh(Bytes behind) {
  if (behind.size() < kGrhBytes) return Unexpected{Error::too_short};
  const Grh grh = decode_grh(behind.first<kGrhBytes>());
  if (grh.version != kGrhVersion) return Unexpected{Error::bad_grh_version};
  if (grh.next_header != kGrhNextHeader) return Unexpected{Error::bad_grh_next_header};
  if (grh.payload_length != behind.size() - kGrhBytes) return Unexpected{Error::bad_grh_length};
  return grh;
}

// Checks of the LRH that need nothing behind it; `bytes` is the whole frame.
Expected<LinkHeader, Error> parse_lrh(Bytes bytes) {
  if (bytes.size() < kLrhBytes + kVcrcBytes) return Unexpected{Error::too_short};
  const LinkHeader lrh = decode_link_header(bytes.first<kLrhBytes>());
  if (lrh.version != 0) return Unexpected{Error::bad_link_version};
  if (lrh.bytes_before_vcrc() + kVcrcBytes != bytes.size()) return Unexpected{Error::bad_packet_length};
  const bool is_iba =
      lrh.next_header == LinkNextHeader::iba_local || lrh.next_header == LinkNextHeader::iba_global;
  if (!is_iba) return Unexpected{Error::not_iba};
  return lrh;
}

LinkNextHeader next_header_of(Bytes frame) {
  return decode_link_header(frame.first<kLrhBytes>()).next_header;
}

// The ICRC up to where the headers, which begin with the LRH, end. Whether there is a GRH is not read again:
// a sender may change a packet in a ring after its length was checked.
Icrc icrc_of_headers(Bytes headers, bool global) {
  Icrc icrc = global ? icrc_after_grh(headers.subspan<kLrhBytes, kGrhBytes>())
                     : icrc_after_lrh(headers.first<kLrhBytes>());
  icrc.add_headers(headers.subspan(route_bytes(global)));
  return icrc;
}

std::size_t size_of(std::span<const Bytes> pieces) {
  std::size_t size = 0;
  for (const Bytes piece : pieces) size += piece.size();
  return size;
}

std::size_t bytes_before_vcrc(const RouteHeaders& route, Opcode opcode, std::size_t payload) {
  return route_bytes(route.global.has_value()) + kBthBytes + header_bytes(opcode_info(opcode).headers) +
         payload + pad_for(payload) + kIcrcBytes;
}

}  // namespace

Expected<void, InfinibandFrameError> parse_infiniband_frame_into(Bytes bytes, InfinibandFrame& out) {
  const auto lrh = parse_lrh(bytes);
  if (!lrh) return Unexpected{lrh.error()};
  out.route.local = *lrh;
  out.route.global.reset();
  Bytes behind = bytes.subspan(kLrhBytes, bytes.size() - kLrhBytes - kVcrcBytes);
  if (lrh->next_header == LinkNextHeader::iba_global) {
    const auto grh = parse_grh(behind);
    if (!grh) return Unexpected{grh.error()};
    out.route.global = *grh;
    behind = behind.subspan(kGrhBytes);
  }
  if (behind.size() < kBthBytes + kIcrcBytes) return Unexpected{Error::too_short};
  out.vcrc_at = bytes.size() - kVcrcBytes;
  out.icrc_at = out.vcrc_at - kIcrcBytes;
  const auto parsed = parse_into(behind.first(behind.size() - kIcrcBytes), out.packet);
  if (!parsed) return Unexpected{kTransportErrors[static_cast<std::size_t>(parsed.error())]};
  return {};
}

Expected<InfinibandFrame, InfinibandFrameError> parse_infiniband_frame(Bytes bytes) {
  InfinibandFrame frame;
  if (const auto parsed = parse_infiniband_frame_into(bytes, frame); !parsed) {
    return Unexpected{parsed.error()};
  }
  return frame;
}

bool has_right_icrc(Bytes frame) {
  if (frame.size() < kLrhBytes) return false;
  const LinkNextHeader next = next_header_of(frame);
  if (next != LinkNextHeader::iba_local && next != LinkNextHeader::iba_global) return false;
  const bool global = next == LinkNextHeader::iba_global;
  constexpr std::size_t ends = kIcrcBytes + kVcrcBytes;
  if (frame.size() < route_bytes(global) + kBthBytes + ends) return false;
  const Bytes covered = frame.first(frame.size() - ends);
  std::uint32_t stored;
  std::memcpy(&stored, frame.data() + covered.size(), sizeof stored);
  return icrc_of_headers(covered, global).value() == stored;
}

bool has_right_vcrc(Bytes frame) {
  if (frame.size() < kLrhBytes + kVcrcBytes) return false;
  const Bytes covered = frame.first(frame.size() - kVcrcBytes);
  return vcrc_of(covered) == load_vcrc(frame.data() + covered.size());
}

std::size_t infiniband_frame_bytes(const RouteHeaders& route, Opcode opcode, std::size_t payload) {
  return bytes_before_vcrc(route, opcode, payload) + kVcrcBytes;
}

std::size_t encode_infiniband_headers(const RouteHeaders& route, const Headers& headers, std::size_t payload,
                                      MutableBytes out) {
  if (payload > kMaxPacketLength * std::size_t{4}) return 0;
  const std::size_t covered = bytes_before_vcrc(route, headers.bth.opcode, payload);
  const std::size_t written = covered - kIcrcBytes - pad_for(payload) - payload;
  if (covered / 4 > kMaxPacketLength || out.size() < written) return 0;
  LinkHeader lrh = route.local;
  lrh.next_header = route.global ? LinkNextHeader::iba_global : LinkNextHeader::iba_local;
  lrh.packet_length = static_cast<std::uint16_t>(covered / 4);
  encode_link_header(lrh, out.first<kLrhBytes>());
  if (route.global) {
    Grh grh = *route.global;
    grh.payload_length = static_cast<std::uint16_t>(covered - kLrhBytes - kGrhBytes);
    encode_grh(grh, out.subspan<kLrhBytes, kGrhBytes>());
  }
  Headers padded = headers;
  padded.bth.pad = pad_for(payload);
  encode(padded, out.subspan(route_bytes(route.global.has_value())));
  return written;
}

std::size_t encode_infiniband_trailer(Bytes headers, std::span<const Bytes> payload, MutableBytes out) {
  Icrc icrc = icrc_of_headers(headers, next_header_of(headers) == LinkNextHeader::iba_global);
  std::uint16_t vcrc = vcrc_update(kVcrcStart, headers);
  for (const Bytes piece : payload) {
    icrc.add(piece);
    vcrc = vcrc_update(vcrc, piece);
  }
  const std::size_t pad = pad_for(size_of(payload));
  std::fill_n(out.begin(), pad, std::byte{0});
  icrc.add(out.first(pad));
  const std::uint32_t value = icrc.value();
  std::memcpy(&out[pad], &value, sizeof value);
  vcrc = vcrc_update(vcrc, out.first(pad + kIcrcBytes));
  store_vcrc(&out[pad + kIcrcBytes], static_cast<std::uint16_t>(~vcrc));
  return pad + kIcrcBytes + kVcrcBytes;
}

std::size_t encode_infiniband_frame(const RouteHeaders& route, const Headers& headers,
                                    std::span<const Bytes> payload, MutableBytes out) {
  const std::size_t size = size_of(payload);
  if (out.size() < infiniband_frame_bytes(route, headers.bth.opcode, size)) return 0;
  const std::size_t start = encode_infiniband_headers(route, headers, size, out);
  if (start == 0) return 0;
  auto next = out.begin() + static_cast<std::ptrdiff_t>(start);
  for (const Bytes piece : payload) next = std::copy(piece.begin(), piece.end(), next);
  return start + size + encode_infiniband_trailer(out.first(start), payload, out.subspan(start + size));
}

void renew_vcrc(MutableBytes frame) {
  const std::size_t covered = frame.size() - kVcrcBytes;
  store_vcrc(&frame[covered], vcrc_of(frame.first(covered)));
}

std::string_view name_of(InfinibandFrameError error) {
  const auto index = static_cast<std::size_t>(error);
  return index < kErrorNames.size() ? kErrorNames[index] : "";
}

std::string to_string(const InfinibandFrame& frame) {
  std::string line = to_string(frame.route.local);
  if (frame.route.global) {
    line += ", GID " + frame.route.global->sgid.to_string() + " > " + frame.route.global->dgid.to_string();
  }
  return line + ", " + to_string(frame.packet);
}

}  // namespace softrnic::wire
