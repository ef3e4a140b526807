// Packets that wait to be sent, laid out for sendmmsg() with UDP_SEGMENT.
//
// Packets of one flow and one size become one message of up to 64 KB that the kernel cuts up again. The bytes
// between two payloads (pad and ICRC of one packet, headers of the next) lie together in a scratch buffer, so
// that a packet costs two iovecs:
//
//   scratch:   [headers 0] [pad icrc 0 | headers 1] [pad icrc 1 | headers 2] …
//   iovecs:         0      1: payload 0   2      3: payload 1    4 …
//
// Short payloads are copied into the scratch buffer: that is cheaper than an iovec, and the ICRC cannot be
// overtaken by a program that writes to the memory meanwhile (a peer polling a word by READ while the program
// changes it). So are those that lie in no region (ib::Fragment::key).
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/ib/types.h"
#include "wire/icrc.h"

namespace softrnic::link {

/// Where a packet leaves and where it goes.
struct TxRoute {
  wire::Flow flow;
  std::uint32_t interface_index = 0;  ///< 0: the routing table decides
  int fd = -1;
};

/// One packet of a message.
struct TxSegment {
  std::uint32_t head = 0;  ///< offset in the scratch buffer
  std::uint32_t head_bytes = 0;
  std::uint32_t header_bytes = 0;  ///< of head_bytes, those before the payload
  std::uint32_t first_iovec = 0;   ///< the payload, unless it was copied into the head
  std::uint32_t iovec_count = 0;
  std::uint32_t tail = 0;
  std::uint32_t tail_bytes = 0;
  std::uint32_t bytes = 0;
};

struct TxMessage {
  TxRoute route;
  Qpn destination;  ///< of the first packet, for reports
  std::uint32_t first_iovec = 0;
  std::uint32_t iovec_count = 0;
  std::uint32_t first_segment = 0;
  std::uint32_t segment_count = 0;
  std::uint32_t segment_bytes = 0;  ///< of all segments but the last, which may be shorter
  std::uint32_t bytes = 0;
  bool closed = false;
};

class TxBatch {
 public:
  static constexpr std::size_t kMaxMessageBytes = 65000;  ///< IPv4: 65535 − 28, and some air
  static constexpr std::size_t kMaxSegments = 64;         ///< UDP_MAX_SEGMENTS of older kernels
  static constexpr std::size_t kMaxCopy = 512;            ///< payload bytes that are rather copied

  static constexpr std::size_t kMessages = 128;  ///< a batch holds at most

  TxBatch();

  bool empty() const { return messages_.empty(); }
  /// Whether one more packet fits, whatever it is.
  bool has_room() const;
  /// Adds a packet; requires has_room(). `segmentation` false: a message of its own.
  void add(const ib::TxPacket& packet, const TxRoute& route, bool segmentation) {
    add_copying(packet, route, segmentation, kMaxCopy);
  }
  /// Adds packets like the one that was added last, each with the next PSN and the next bytes from `payload`
  /// on, as many of `count` as go into its message. Returns how many.
  std::uint32_t repeat(const std::byte* payload, std::uint32_t count);
  /// The same as add(), with bit number `bit` modulo the packet's bits flipped behind the ICRC's back.
  void add_damaged(const ib::TxPacket& packet, const TxRoute& route, std::uint32_t bit);
  void clear();

  std::span<TxMessage> messages() { return messages_; }
  iovec* iovecs(const TxMessage& message) { return &iovecs_[message.first_iovec]; }

  /// Writes segment `index` of `message` as a packet of its own to `out`, with the ICRC for identification 0:
  /// for when the kernel does not segment. Returns iovecs used (at most kMaxSingleIovecs).
  std::size_t single(const TxMessage& message, std::size_t index, iovec* out);
  /// The same pieces as they will be sent within the message.
  std::size_t pieces(const TxMessage& message, std::size_t index, iovec* out) const;
  static constexpr std::size_t kMaxSingleIovecs = ib::TxPacket::kMaxFragments + 2;

 private:
  static constexpr std::size_t kPackets = 512;
  static constexpr std::size_t kIovecs = 1536;
  static constexpr std::size_t kMessageIovecs = 1000;  ///< below UIO_MAXIOV
  static constexpr std::size_t kTailBytes = 3 + wire::kIcrcBytes;
  static constexpr std::size_t kMaxPayload = 4096;
  static constexpr std::size_t kMaxPacket = wire::kMaxHeaderBytes + kMaxPayload + kTailBytes;
  static constexpr std::size_t kScratchBytes = kPackets * (wire::kMaxHeaderBytes + kTailBytes) + 64 * 1024;

  void add_copying(const ib::TxPacket& packet, const TxRoute& route, bool segmentation,
                   std::size_t longest_copied);

  std::size_t room_for(const TxSegment& segment, const TxMessage& message) const;
  TxMessage& message_for(const ib::TxPacket& packet, const TxRoute& route, std::size_t bytes,
                         bool segmentation);
  /// Appends scratch bytes that were just written at the cursor to the message.
  void take_scratch(TxMessage& message, std::size_t bytes);
  std::byte* cursor() { return scratch_.get() + used_; }

  std::unique_ptr<std::byte[]> scratch_;
  wire::LastIcrcStart start_;
  std::size_t used_ = 0;
  std::vector<iovec> iovecs_;
  std::vector<TxSegment> segments_;
  std::vector<TxMessage> messages_;
};

}  // namespace softrnic::link
