#include "link/stream_capture.h"

#include <algorithm>
#include <array>

#include "wire/mpa.h"

namespace softrnic::link {
namespace {

using wire::CaptureDirection;

constexpr std::size_t kLongestSegment = 60'000;

wire::Flow turned(const wire::Flow& flow) {
  wire::Flow other = flow;
  std::swap(other.source, other.destination);
  std::swap(other.source_port, other.destination_port);
  return other;
}

}  // namespace

StreamCapture::StreamCapture(StreamTap& tap, const wire::Flow& flow)
    : tap_(tap), out_{CaptureDirection::outbound, flow}, in_{CaptureDirection::inbound, turned(flow)} {}

void StreamCapture::segment(Side& from, std::uint8_t flags, std::span<const Bytes> pieces) {
  wire::TcpHeaders headers;
  headers.flow = from.flow;
  headers.sequence = from.next;
  headers.acknowledgement = (&from == &out_ ? in_ : out_).next;
  headers.flags = flags;
  tap_.segment(from.direction, headers, pieces);
  for (const Bytes piece : pieces) from.next += static_cast<std::uint32_t>(piece.size());
  from.next += (flags & (wire::kTcpSyn | wire::kTcpFin)) != 0 ? 1 : 0;
}

// Who wants markers says so of what it receives (RFC 5044 7.1).
void StreamCapture::mpa_frame(Side& from, const iwarp::MpaAgreement& agreement, bool request) {
  const bool own = &from == &out_;
  wire::MpaFrame frame;
  frame.kind = request ? wire::MpaFrameKind::request : wire::MpaFrameKind::reply;
  frame.markers = own ? agreement.markers_in : agreement.markers_out;
  frame.crc = agreement.crc;
  frame.long_fpdus = agreement.long_fpdus;
  frame.extensions = agreement.extensions;
  frame.revision = agreement.revision;
  frame.enhanced = agreement.revision > 1;
  frame.private_bytes = frame.enhanced ? wire::kMpaEnhancedBytes : 0;
  std::array<std::byte, wire::kMpaFrameBytes + wire::kMpaEnhancedBytes> bytes;
  wire::encode(frame, bytes);
  wire::MpaEnhanced enhanced{agreement.rtr != 0, agreement.rtr, agreement.ird, agreement.ord};
  if (!own) std::swap(enhanced.ird, enhanced.ord);
  wire::encode(enhanced, MutableBytes(bytes).subspan(wire::kMpaFrameBytes));
  const Bytes all = Bytes(bytes).first(wire::kMpaFrameBytes + frame.private_bytes);
  segment(from, wire::kTcpAck | wire::kTcpPush, {&all, 1});
}

void StreamCapture::begin(const iwarp::MpaAgreement& agreement, bool initiator) {
  Side& first = initiator ? out_ : in_;
  Side& second = initiator ? in_ : out_;
  segment(first, wire::kTcpSyn);
  segment(second, wire::kTcpSyn | wire::kTcpAck);
  segment(first, wire::kTcpAck);
  mpa_frame(first, agreement, true);
  mpa_frame(second, agreement, false);
  tap_.flush_segments();
}

void StreamCapture::moved(CaptureDirection direction, std::span<const Bytes> pieces, std::size_t bytes) {
  std::array<Bytes, StreamTap::kMaxPieces> part;
  std::size_t count = 0;
  std::size_t room = kLongestSegment;
  const auto put = [&] {
    if (count != 0) segment(side(direction), wire::kTcpAck, {part.data(), count});
    count = 0;
    room = kLongestSegment;
  };
  for (Bytes piece : pieces) {
    piece = piece.first(std::min(piece.size(), bytes));
    bytes -= piece.size();
    while (!piece.empty()) {
      part[count] = piece.first(std::min(piece.size(), room));
      room -= part[count].size();
      piece = piece.subspan(part[count].size());
      if (++count == part.size() || room == 0) put();
    }
  }
  put();
  tap_.flush_segments();
}

void StreamCapture::ended(CaptureDirection direction, bool reset) {
  segment(side(direction),
          static_cast<std::uint8_t>(wire::kTcpAck | (reset ? wire::kTcpRst : wire::kTcpFin)));
  tap_.flush_segments();
}

}  // namespace softrnic::link
