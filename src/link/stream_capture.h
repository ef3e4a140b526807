// What a capture shows of a TCP stream: segments that bear its bytes. Only the kernel knows those that were
// on the wire; their bytes and their order are the same, and where they begin is not. Before them come the
// segments that have set the connection up, with MPA's frames as both sides agreed on them, without which
// wireshark takes the stream for no iWARP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/iwarp/mpa_options.h"
#include "wire/pcapng.h"
#include "wire/tcp_frame.h"

namespace softrnic::link {

/// Sees the segments of all streams.
class StreamTap {
 public:
  /// `pieces`, at most kMaxPieces, together are the payload.
  static constexpr std::size_t kMaxPieces = 32;
  virtual void segment(wire::CaptureDirection direction, const wire::TcpHeaders& headers,
                       std::span<const Bytes> pieces) = 0;
  /// A batch is over.
  virtual void flush_segments() = 0;

 protected:
  ~StreamTap() = default;
};

class StreamCapture {
 public:
  /// `flow` is that of what this side sends; `tap` outlives the capture.
  StreamCapture(StreamTap& tap, const wire::Flow& flow);

  /// `initiator`: this side has connected.
  void begin(const iwarp::MpaAgreement& agreement, bool initiator);
  /// The first `bytes` of these pieces have gone out or come in.
  void moved(wire::CaptureDirection direction, std::span<const Bytes> pieces, std::size_t bytes);
  /// A side has ended, or given up.
  void ended(wire::CaptureDirection direction, bool reset);

 private:
  struct Side {
    wire::CaptureDirection direction;
    wire::Flow flow;
    std::uint32_t next = 0;  ///< sequence number
  };
  Side& side(wire::CaptureDirection direction) {
    return direction == wire::CaptureDirection::outbound ? out_ : in_;
  }
  void segment(Side& from, std::uint8_t flags, std::span<const Bytes> pieces = {});
  void mpa_frame(Side& from, const iwarp::MpaAgreement& agreement, bool request);

  StreamTap& tap_;
  Side out_;
  Side in_;
};

}  // namespace softrnic::link
