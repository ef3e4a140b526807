// Cuts a TCP segment or a UDP datagram that is longer than a frame can be into frames, as adapters do that
// are given such by their host (TSO and USO).
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "ethernet/flow_key.h"

namespace softrnic::ethernet {

class Segmentation {
 public:
  /// `segment_bytes` of payload in each frame but the last. Nothing: the frame is neither TCP nor UDP over
  /// IP, or its headers are not whole. `frame` stays where it is.
  static std::optional<Segmentation> of(Bytes frame, const ParsedFrame& parsed, std::size_t segment_bytes);

  std::size_t count() const { return count_; }
  std::size_t header_bytes() const { return header_bytes_; }
  /// Most bytes that one of them has.
  std::size_t most_bytes() const { return header_bytes_ + segment_bytes_; }
  /// Writes the frame with this index to `out`, which has room for it, with lengths, sequence number, flags
  /// and checksums that fit it. Returns its bytes.
  std::size_t write(std::size_t index, MutableBytes out) const;

 private:
  Segmentation(Bytes frame, const ParsedFrame& parsed) : frame_(frame), parsed_(parsed) {}
  void fix_network(std::size_t index, MutableBytes out) const;
  void fix_transport(std::size_t index, MutableBytes out) const;

  Bytes frame_;
  ParsedFrame parsed_;
  std::size_t header_bytes_ = 0;
  std::size_t segment_bytes_ = 0;
  std::size_t count_ = 0;
};

}  // namespace softrnic::ethernet
