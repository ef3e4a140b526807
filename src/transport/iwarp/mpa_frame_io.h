// A frame of MPA with its private data, collected from a stream in whatever pieces it comes, or on its way
// out.
#pragma once

#include <array>
#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "wire/mpa.h"

namespace softrnic::iwarp {

inline constexpr std::size_t kMaxMpaFrameBytes = wire::kMpaFrameBytes + wire::kMpaPrivateBytes;

/// Collects one frame and takes nothing beyond it.
class MpaFrameReader {
 public:
  explicit MpaFrameReader(wire::MpaFrameKind kind) : kind_(kind) {}

  /// Takes from the front of `bytes` what belongs to the frame; how many that were. Error: this will be
  /// none. A frame whose beginning is wrong fails at its first wrong byte.
  Expected<std::size_t, Reason> take(Bytes bytes);
  bool whole() const { return whole_; }
  std::size_t taken() const { return taken_; }
  /// What is still to come of it, as far as that is known.
  std::size_t missing() const { return due() - taken_; }

  // ---- of a whole frame
  const wire::MpaFrame& frame() const { return frame_; }
  /// Whether it has a wire::MpaEnhanced, which is not part of private_data().
  bool enhanced() const { return frame_.revision > 1 && frame_.enhanced; }
  wire::MpaEnhanced enhanced_data() const;
  Bytes private_data() const;

 private:
  std::size_t due() const {
    return header_read_ ? wire::kMpaFrameBytes + frame_.private_bytes : wire::kMpaFrameBytes;
  }
  Expected<void, Reason> read_header();

  wire::MpaFrameKind kind_;
  bool header_read_ = false;
  bool whole_ = false;
  std::size_t taken_ = 0;
  wire::MpaFrame frame_;
  std::array<std::byte, kMaxMpaFrameBytes> bytes_;
};

/// What is to be written to the stream; room for a frame and a Terminate message behind it.
class MpaOutput {
 public:
  Bytes unsent() const { return Bytes(bytes_).subspan(sent_, size_ - sent_); }
  void sent(std::size_t count) { sent_ += count; }

  /// Room for private data in a frame of this revision.
  static constexpr std::size_t private_room(std::uint8_t revision) {
    return wire::kMpaPrivateBytes - (revision > 1 ? wire::kMpaEnhancedBytes : 0);
  }
  /// Appends a frame; that of revision 2 with `enhanced`. `private_data` fits private_room().
  void add(wire::MpaFrame frame, const wire::MpaEnhanced& enhanced, Bytes private_data);
  /// Appends an FPDU.
  void add_fpdu(Bytes ulpdu, bool crc, bool marker);

 private:
  static constexpr std::size_t kFpduRoom = 128;
  std::size_t size_ = 0;
  std::size_t sent_ = 0;
  std::array<std::byte, kMaxMpaFrameBytes + kFpduRoom> bytes_;
};

/// Why private data are too long for a frame; nothing: they are not.
Expected<void, Reason> check_private_data(Bytes private_data, std::uint8_t revision);

/// Nothing, or not all of a frame, has come in that time.
Reason mpa_timed_out(wire::MpaFrameKind kind, Duration timeout);

}  // namespace softrnic::iwarp
