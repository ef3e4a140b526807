#include "transport/ib/segment_cutter.h"

#include <algorithm>

namespace softrnic::ib {

SegmentCutter::SegmentCutter(std::size_t header_bytes)
    : room_(header_bytes == 0 ? 0 : header_bytes + kMostPayload) {
  if (room_ == 0) return;
  whole_ = std::make_unique_for_overwrite<std::byte[]>(room_);
  frame_ = std::make_unique_for_overwrite<std::byte[]>(room_);
}

bool SegmentCutter::begin(Bytes header, std::span<const Fragment> payload, std::size_t segment_bytes) {
  std::size_t bytes = header.size();
  std::copy(header.begin(), header.end(), whole_.get());
  for (const Fragment& piece : payload) {
    if (piece.size > room_ - bytes) return false;
    std::copy_n(piece.data, piece.size, whole_.get() + bytes);
    bytes += piece.size;
  }
  const Bytes whole{whole_.get(), bytes};
  const ethernet::ParsedFrame parsed = ethernet::parse(whole);
  next_ = 0;
  cut_ = parsed.has(ethernet::kTcp) ? ethernet::Segmentation::of(whole, parsed, segment_bytes) : std::nullopt;
  const bool fits = cut_ && cut_->header_bytes() == header.size();
  if (!fits) cut_.reset();
  return fits;
}

Bytes SegmentCutter::next() { return {frame_.get(), cut_->write(next_++, {frame_.get(), room_})}; }

}  // namespace softrnic::ib
