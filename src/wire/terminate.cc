#include "wire/terminate.h"

#include <algorithm>

#include "wire/iwarp_fields.h"

namespace softrnic::wire {
namespace {

using enum TerminateError;
using enum TerminateHeaders;

constexpr TerminateErrorInfo kErrors[] = {
#define SOFTRNIC_TERMINATE(number, name, words, chinese, headers) {name, words, headers},
#include "base/iwarp_terminate.def"
#undef SOFTRNIC_TERMINATE
};

constexpr bool ascending() {
  return std::is_sorted(std::begin(kErrors), std::end(kErrors),
                        [](const auto& a, const auto& b) { return a.error < b.error; });
}
static_assert(ascending());

// HdrCt (RFC 5040 4.8)
constexpr std::uint16_t kLengthValid = 0x8000, kHasDdp = 0x4000, kHasRdmap = 0x2000, kReserved = 0x1fff;

// Linux's siw of a little-endian host puts layer and type in each other's place, and M, D and R at the
// other end of their byte.
constexpr std::uint16_t kSwappedFlags = 0x0700;

std::uint16_t swapped(std::uint16_t error) {
  return static_cast<std::uint16_t>(((error & 0xf000) >> 4) | ((error & 0x0f00) << 4) | (error & 0xff));
}

bool is_swapped(std::uint16_t error, std::uint16_t control) {
  const std::uint16_t flags = control & (kLengthValid | kHasDdp | kHasRdmap);
  if (flags != 0) return false;
  if ((control & kSwappedFlags) != 0) return true;
  const auto* const as_it_stands = find_terminate_error(error);
  const auto* const other = find_terminate_error(swapped(error));
  if (other == nullptr || other->headers != none) return false;
  // An error of DDP or RDMAP can come without headers all the same; only those of MPA have to.
  constexpr int kMpa = 2;
  return as_it_stands == nullptr || (as_it_stands->headers != none && swapped(error) >> 12 == kMpa);
}

std::uint16_t control_of_swapped(std::uint16_t control) {
  return static_cast<std::uint16_t>(((control & 0x0100) != 0 ? kLengthValid : 0) |
                                    ((control & 0x0200) != 0 ? kHasDdp : 0) |
                                    ((control & 0x0400) != 0 ? kHasRdmap : 0));
}

bool is_read_request(const DdpHeader& header) {
  return header.opcode == static_cast<std::uint8_t>(RdmapOpcode::read_request);
}

}  // namespace

const TerminateErrorInfo* find_terminate_error(std::uint16_t raw) {
  const auto* found = std::find_if(std::begin(kErrors), std::end(kErrors), [raw](const auto& each) {
    return static_cast<std::uint16_t>(each.error) == raw;
  });
  return found == std::end(kErrors) ? nullptr : found;
}

std::span<const TerminateErrorInfo> all_terminate_errors() { return kErrors; }

Terminate parse_terminate(Bytes payload) {
  Terminate terminate;
  if (payload.size() < kTerminateControlBytes) {
    terminate.error = static_cast<std::uint16_t>(rdmap_catastrophic);
    return terminate;
  }
  std::uint16_t control = field::Terminate::Control::load(payload.data());
  terminate.error = field::Terminate::Error::load(payload.data());
  if (is_swapped(terminate.error, control)) {
    terminate.error = swapped(terminate.error);
    control = control_of_swapped(control);
  }
  terminate.reserved = control & kReserved;
  Bytes rest = payload.subspan(kTerminateControlBytes);
  if ((control & (kLengthValid | kHasDdp)) == 0 || rest.size() < 2) return terminate;
  if ((control & kLengthValid) != 0) terminate.segment_bytes = load_be16(rest.data());
  rest = rest.subspan(2);
  if ((control & kHasDdp) == 0) return terminate;
  const auto header = parse_ddp(rest);
  if (!header) return terminate;
  terminate.ddp = *header;
  rest = rest.subspan(ddp_bytes(*header));
  if ((control & kHasRdmap) != 0 && is_read_request(*header) && rest.size() >= kReadRequestBytes)
    terminate.read = parse_read_request(rest);
  return terminate;
}

std::size_t encode(const Terminate& terminate, MutableBytes out) {
  const bool has_ddp = terminate.ddp.has_value(), has_read = has_ddp && terminate.read.has_value();
  const bool has_length = terminate.segment_bytes.has_value();
  field::Terminate::Error::store(out.data(), terminate.error);
  field::Terminate::Control::store(
      out.data(), static_cast<std::uint16_t>((has_length ? kLengthValid : 0) | (has_ddp ? kHasDdp : 0) |
                                             (has_read ? kHasRdmap : 0) | (terminate.reserved & kReserved)));
  if (!has_length && !has_ddp) return kTerminateControlBytes;
  field::Terminate::SegmentLength::store(out.data(), terminate.segment_bytes.value_or(0));
  std::size_t written = kTerminateControlBytes + 2;
  if (has_ddp) written += encode(*terminate.ddp, out.subspan(written));
  if (!has_read) return written;
  encode(*terminate.read, out.subspan(written));
  return written + kReadRequestBytes;
}

Terminate terminate_about(TerminateError error, Bytes segment, std::size_t segment_bytes) {
  Terminate terminate;
  terminate.error = static_cast<std::uint16_t>(error);
  const TerminateErrorInfo* const info = find_terminate_error(terminate.error);
  const auto header = parse_ddp(segment);
  if (info == nullptr || info->headers == none || !header) return terminate;
  terminate.segment_bytes = static_cast<std::uint16_t>(segment_bytes);
  terminate.ddp = *header;
  const Bytes body = segment.subspan(ddp_bytes(*header));
  if (info->headers == ddp_rdmap && is_read_request(*header) && body.size() >= kReadRequestBytes)
    terminate.read = parse_read_request(body);
  return terminate;
}

}  // namespace softrnic::wire
