// TCP segmentation of a send: the header and the payload that the program gave, made frames of at most its
// MSS.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "ethernet/segmentation.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

class SegmentCutter {
 public:
  static constexpr std::uint32_t kMostPayload = 256 * 1024;

  /// For headers of at most so many bytes; 0: it is not used, and has no memory.
  explicit SegmentCutter(std::size_t header_bytes);

  /// Copies all of it. False: the header is none of TCP over IP, or there is no payload.
  bool begin(Bytes header, std::span<const Fragment> payload, std::size_t segment_bytes);
  /// Whether there are frames left of what was begun.
  bool busy() const { return cut_ && next_ < cut_->count(); }
  /// The next of them, good until the next call.
  Bytes next();
  void reset() { cut_.reset(); }

 private:
  std::unique_ptr<std::byte[]> whole_;
  std::unique_ptr<std::byte[]> frame_;
  std::size_t room_;
  std::optional<ethernet::Segmentation> cut_;
  std::size_t next_ = 0;
};

}  // namespace softrnic::ib
