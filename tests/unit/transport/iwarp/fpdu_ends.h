// Both ends of a stream of FPDUs for tests: segments that come out of a list, and such that are collected.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/reason_id.h"
#include "transport/iwarp/mpa_receiver.h"
#include "transport/iwarp/mpa_sender.h"

namespace softrnic::iwarp::test {

struct Segment {
  std::vector<std::byte> header;
  std::vector<std::byte> payload;
  bool operator==(const Segment&) const = default;
};

/// A segment with a header that can be read, and bytes that tell one from another.
inline Segment make_segment(bool tagged, std::size_t payload, unsigned seed) {
  wire::DdpHeader header;
  header.tagged = tagged;
  header.last = true;
  header.opcode = tagged ? 0 : 3;
  header.offset = header.msn = seed;
  Segment segment;
  segment.header.resize(wire::kMaxDdpBytes);
  segment.header.resize(wire::encode(header, segment.header));
  segment.payload.resize(payload);
  for (std::size_t i = 0; i < payload; ++i)
    segment.payload[i] = static_cast<std::byte>(i * 13 + seed + i / 251);
  return segment;
}

class ListSource final : public SegmentSource {
 public:
  explicit ListSource(std::vector<Segment> segments) : segments_(std::move(segments)) {}

  std::size_t piece = 1000;     ///< payload lies in pieces of so many bytes
  std::size_t gone = SIZE_MAX;  ///< the payload of this segment is not to be had
  bool passing = false;
  std::size_t sent = 0;

  bool next_segment(TxSegment& out, std::size_t max_ulpdu) override {
    if (made_ == segments_.size()) return false;
    const Segment& segment = segments_[made_];
    std::memcpy(out.headers().data(), segment.header.data(), segment.header.size());
    out.kind = SegmentKind::request;
    out.head_bytes = static_cast<std::uint16_t>(wire::kFpduHeaderBytes + segment.header.size());
    out.payload = static_cast<std::uint16_t>(segment.payload.size());
    out.index = static_cast<std::uint32_t>(made_++);
    EXPECT_LE(out.ulpdu(), max_ulpdu);
    return true;
  }
  std::optional<Pieces> payload(const TxSegment& segment, std::size_t from, std::span<Bytes> out) override {
    if (segment.index == gone) return std::nullopt;
    const Bytes all = segments_[segment.index].payload;
    Pieces pieces{0, passing};
    for (; from < all.size() && pieces.count < out.size(); ++pieces.count) {
      const std::size_t size = std::min(piece - from % piece, all.size() - from);
      out[pieces.count] = all.subspan(from, size);
      from += size;
    }
    return pieces;
  }
  void segment_sent(const TxSegment& segment) override { EXPECT_EQ(segment.index, sent++); }

 private:
  std::vector<Segment> segments_;
  std::size_t made_ = 0;
};

class ListSink final : public SegmentSink {
 public:
  std::vector<Segment> segments;
  std::vector<StreamFault> faults;
  std::size_t piece = 700;           ///< places are so long
  std::size_t refuse_at = SIZE_MAX;  ///< begin_segment() of this one says no
  std::size_t placed_early = 0;      ///< bytes of segments that did not come to their end

  bool begin_segment(Bytes header, std::size_t payload) override {
    if (segments.size() == refuse_at) return false;
    open_ = {{header.begin(), header.end()}, std::vector<std::byte>(payload)};
    return true;
  }
  MutableBytes place(std::size_t offset, std::size_t most) override {
    return MutableBytes(open_.payload).subspan(offset, std::min(piece, most));
  }
  bool placed(std::size_t, std::size_t size) override {
    placed_early += size;
    return true;
  }
  bool end_segment() override {
    placed_early -= open_.payload.size();
    segments.push_back(open_);
    return true;
  }
  void stream_fault(StreamFault fault, const Reason& reason) override {
    EXPECT_NE(reason.id, ReasonId::none);
    faults.push_back(fault);
  }

 private:
  Segment open_;
};

/// Everything that the sender has, as one stream; it takes `most` bytes at a time.
inline std::vector<std::byte> drain(MpaSender& sender, std::size_t most = SIZE_MAX, std::size_t pieces = 16) {
  std::vector<std::byte> stream;
  std::vector<Bytes> out(pieces);
  for (std::size_t count; (count = sender.gather(out)) > 0;) {
    std::size_t left = most;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t n = std::min(left, out[i].size());
      stream.insert(stream.end(), out[i].begin(), out[i].begin() + static_cast<std::ptrdiff_t>(n));
      left -= n;
      taken += n;
    }
    sender.sent(taken);
  }
  return stream;
}

}  // namespace softrnic::iwarp::test
