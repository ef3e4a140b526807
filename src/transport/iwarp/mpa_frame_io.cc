#include "transport/iwarp/mpa_frame_io.h"

#include <algorithm>
#include <cstring>

#include "base/reason_id.h"
#include "wire/crc32c.h"

namespace softrnic::iwarp {

Expected<void, Reason> check_private_data(Bytes private_data, std::uint8_t revision) {
  const std::size_t room = MpaOutput::private_room(revision);
  if (private_data.size() <= room) return {};
  return Unexpected{because(ReasonId::mpa_private_data_too_long, private_data.size(), room, revision)};
}

Reason mpa_timed_out(wire::MpaFrameKind kind, Duration timeout) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  return because(ReasonId::mpa_timeout, kind, milliseconds);
}

Expected<void, Reason> MpaFrameReader::read_header() {
  const auto parsed = wire::parse_mpa_frame(kind_, bytes_);
  if (parsed) {
    frame_ = *parsed;
    header_read_ = true;
    return {};
  }
  if (parsed.error() == wire::MpaFrameError::wrong_key)
    return Unexpected{because(ReasonId::mpa_no_frame, kind_)};
  const std::uint16_t announced = load_be16(&bytes_[wire::kMpaFrameBytes - 2]);
  const std::size_t least = announced < wire::kMpaEnhancedBytes ? wire::kMpaEnhancedBytes : 0;
  return Unexpected{because(ReasonId::mpa_private_data, kind_, announced, least, wire::kMpaPrivateBytes)};
}

Expected<std::size_t, Reason> MpaFrameReader::take(Bytes bytes) {
  std::size_t used = 0;
  while (!whole_ && used < bytes.size()) {
    const std::size_t piece = std::min(bytes.size() - used, due() - taken_);
    std::memcpy(&bytes_[taken_], bytes.data() + used, piece);
    taken_ += piece;
    used += piece;
    if (!header_read_ &&
        !wire::begins_mpa_frame(kind_, Bytes(bytes_).first(std::min(taken_, wire::kMpaFrameBytes))))
      return Unexpected{because(ReasonId::mpa_no_frame, kind_)};
    if (taken_ < due()) continue;
    if (!header_read_) {
      if (auto read = read_header(); !read) return Unexpected{read.error()};
    }
    whole_ = taken_ == due();
  }
  return used;
}

wire::MpaEnhanced MpaFrameReader::enhanced_data() const {
  return wire::parse_mpa_enhanced(Bytes(bytes_).subspan(wire::kMpaFrameBytes, wire::kMpaEnhancedBytes));
}

Bytes MpaFrameReader::private_data() const {
  const std::size_t skip = enhanced() ? wire::kMpaEnhancedBytes : 0;
  return Bytes(bytes_).subspan(wire::kMpaFrameBytes + skip, frame_.private_bytes - skip);
}

void MpaOutput::add(wire::MpaFrame frame, const wire::MpaEnhanced& enhanced, Bytes private_data) {
  frame.enhanced = frame.revision > 1;
  const std::size_t lead = frame.enhanced ? wire::kMpaEnhancedBytes : 0;
  frame.private_bytes = static_cast<std::uint16_t>(lead + private_data.size());
  const MutableBytes out = MutableBytes(bytes_).subspan(size_);
  wire::encode(frame, out);
  if (frame.enhanced) wire::encode(enhanced, out.subspan(wire::kMpaFrameBytes));
  if (!private_data.empty())
    std::memcpy(out.data() + wire::kMpaFrameBytes + lead, private_data.data(), private_data.size());
  size_ += wire::kMpaFrameBytes + frame.private_bytes;
}

// The first FPDU of a stream: if there are markers, one stands before it.
void MpaOutput::add_fpdu(Bytes ulpdu, bool crc, bool marker) {
  const std::size_t begin = size_;
  if (marker) {
    wire::encode_marker(0, MutableBytes(bytes_).subspan(size_));
    size_ += wire::kMarkerBytes;
  }
  store_be16(&bytes_[size_], static_cast<std::uint16_t>(ulpdu.size()));
  std::memcpy(&bytes_[size_ + wire::kFpduHeaderBytes], ulpdu.data(), ulpdu.size());
  size_ += wire::kFpduHeaderBytes + ulpdu.size();
  const std::size_t pad = wire::fpdu_pad(ulpdu.size());
  std::memset(&bytes_[size_], 0, pad + wire::kFpduCrcBytes);
  size_ += pad;
  if (crc) {
    const std::uint32_t value =
        ~wire::crc32c_update(wire::kCrc32cStart, Bytes(bytes_).subspan(begin, size_ - begin));
    std::memcpy(&bytes_[size_], &value, sizeof value);
  }
  size_ += wire::kFpduCrcBytes;
}

}  // namespace softrnic::iwarp
