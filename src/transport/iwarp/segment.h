// What MPA and DDP have between them: segments on their way out and in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/reason.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

namespace softrnic::iwarp {

/// What a stream of FPDUs can have that makes an end of it (RFC 5044 8).
enum class StreamFault : std::uint8_t { crc, marker, segment };

/// Takes the segments that an MpaReceiver finds. Each call may answer false: then nothing more is taken
/// from the stream.
class SegmentSink {
 public:
  /// A segment begins: its DDP header (empty for a ULPDU of no bytes), and how many bytes follow it.
  virtual bool begin_segment(Bytes header, std::size_t payload) = 0;
  /// Of a segment that was not let begin: it may be later, and then is to be begun anew.
  virtual bool may_begin_later() const { return false; }
  /// Where its bytes from `offset` on go, at least one and at most `most`; empty: nowhere. Good until the
  /// next call.
  virtual MutableBytes place(std::size_t offset, std::size_t most) = 0;
  /// They are there.
  virtual bool placed(std::size_t offset, std::size_t size) = 0;
  /// All of it has come, and its CRC is right.
  virtual bool end_segment() = 0;
  virtual void stream_fault(StreamFault fault, const Reason& reason) = 0;

 protected:
  ~SegmentSink() = default;
};

/// Whose a segment is that goes out.
enum class SegmentKind : std::uint8_t { request, response, ready, terminate };

/// A segment on its way out: everything before its payload, and where that comes from.
struct TxSegment {
  SegmentKind kind{};
  bool last = false;             ///< of its message, or work request
  std::uint32_t index = 0;       ///< kind request: of the work request
  std::uint32_t offset = 0;      ///< of its payload in the message
  std::uint16_t payload = 0;     ///< bytes
  std::uint16_t head_bytes = 0;  ///< of `head`
  /// Room for the length of the FPDU, then DDP and RDMAP headers.
  std::array<std::byte, wire::kFpduHeaderBytes + wire::kMaxDdpBytes + wire::kMaxRdmapBodyBytes> head;

  std::size_t ulpdu() const { return head_bytes - wire::kFpduHeaderBytes + payload; }
  MutableBytes headers() { return MutableBytes(head).subspan(wire::kFpduHeaderBytes); }
};

/// Makes the segments that an MpaSender sends.
class SegmentSource {
 public:
  /// The next segment of at most `max_ulpdu` bytes. False: there is none at present.
  virtual bool next_segment(TxSegment& out, std::size_t max_ulpdu) = 0;
  /// Where its payload lies from byte `from` on, in as many pieces as fit `out`; how many there were. It
  /// is asked anew before every attempt to send, as a region may have gone. Nothing: it has; the source
  /// knows why, and if the FPDU has begun the stream is cut. `passing`: the bytes are good until this is
  /// called for another segment only.
  struct Pieces {
    std::size_t count = 0;
    bool passing = false;
  };
  virtual std::optional<Pieces> payload(const TxSegment& segment, std::size_t from, std::span<Bytes> out) = 0;
  /// The stream has taken all of it.
  virtual void segment_sent(const TxSegment& segment) = 0;

 protected:
  ~SegmentSource() = default;
};

}  // namespace softrnic::iwarp
