// Sends Ethernet frames by a packet socket, many a system call.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <vector>

#include "base/unique_fd.h"
#include "transport/ib/types.h"

namespace softrnic::link {

/// Not thread-safe. As of a link (link.h): the bytes of a frame's fragments may not change before flush(),
/// those without a key excepted, which are copied.
class FrameSender {
 public:
  explicit FrameSender(UniqueFd fd);

  /// Queues a frame (ib::TxPacket::is_frame); may send what is queued.
  void send(const ib::TxPacket& frame);
  /// Sends all that is queued. What a full netdev does not take within some milliseconds is lost.
  void flush();

  /// What could not be sent since the last call.
  struct Report {
    std::uint64_t frames = 0;
    int error = 0;  ///< of the last one
    std::size_t bytes = 0;
  };
  Report take_report();

 private:
  static constexpr std::size_t kFrames = 64;
  static constexpr std::size_t kPieces = 512;
  static constexpr std::size_t kCopyBytes = 128 * 1024;

  std::byte* copy(const ib::Fragment& fragment);
  bool wait_writable(int& waits) const;

  UniqueFd fd_;
  std::array<mmsghdr, kFrames> messages_{};
  std::array<iovec, kPieces> pieces_{};
  std::size_t frames_ = 0;
  std::size_t used_pieces_ = 0;
  std::vector<std::byte> copies_;
  std::size_t copied_ = 0;
  Report report_;
};

}  // namespace softrnic::link
