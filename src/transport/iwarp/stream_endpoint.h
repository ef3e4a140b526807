// What a stream has at its end: bytes come in and go out, and it is said what is to become of the stream.
// That is the transport itself (iwarp::Endpoint), or what is left for a stream to do where both ends of a
// connection are on one host (Lifeline).
//
// Not thread-safe: the caller holds the lock of the lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/time.h"

namespace softrnic::iwarp {

/// How a connection came to its end.
enum class Ending : std::uint8_t {
  none,
  closed,      ///< in good order
  refused,     ///< the peer did something wrong, or memory of this side was gone
  terminated,  ///< the peer gave up, and said so
  lost,        ///< the stream broke, or ended where it should not
  aborted,     ///< by flush()
};

/// What the endpoint wants done with its stream.
enum class StreamWish : std::uint8_t {
  none,
  shut_down,  ///< no more is written: shutdown(SHUT_WR), then shut_down_done()
  close,      ///< close()
};

/// How a stream can end.
enum class StreamEnd : std::uint8_t {
  closed,  ///< the peer writes no more (FIN)
  broken,  ///< reset, or an error of the socket
};

class StreamEndpoint {
 public:
  /// In good order: what is posted is finished, nothing further is posted.
  virtual void close(TimePoint now) = 0;

  // ---- in

  virtual void receive(Bytes bytes, TimePoint now) = 0;
  /// Where the next bytes of the stream go if they are read straight; empty: to receive() with them.
  virtual MutableBytes room() = 0;
  virtual void filled(std::size_t count, TimePoint now) = 0;
  /// Nothing is to be read for now; try_again() looks whether that is over.
  virtual bool waits() const = 0;
  virtual void try_again(TimePoint now) = 0;

  // ---- out

  /// What is to be written next: how many pieces. They are good until the next call.
  virtual std::size_t gather(std::span<Bytes> out, TimePoint now) = 0;
  /// The stream has taken so many bytes of them.
  virtual void sent(std::size_t count, TimePoint now) = 0;

  // ---- a responder that waits for the peer's first word, for a while

  virtual bool hesitates() const { return false; }
  /// Whether the peer's TCP has acknowledged the reply of MPA: what may be lost on its way nobody has read.
  /// Asked before each gather() while hesitates().
  virtual void reply_arrived(bool, TimePoint) {}
  /// This side was the first to send, and nothing has come.
  virtual bool spoke_first() const { return false; }

  // ---- a WRITE that the stream has taken, whose completion waits for the answer of the peer

  /// When complete_delayed() is to be called if no answer has come, or kNever: nothing waits.
  virtual TimePoint delayed_until() const { return kNever; }
  virtual void complete_delayed() {}

  // ---- the stream

  virtual StreamWish wish() const = 0;
  virtual void shut_down_done(TimePoint now) = 0;
  virtual void stream_ended(StreamEnd end, TimePoint now) = 0;
  virtual Ending ending() const = 0;

 protected:
  StreamEndpoint() = default;
  ~StreamEndpoint() = default;
  StreamEndpoint(const StreamEndpoint&) = delete;
  StreamEndpoint& operator=(const StreamEndpoint&) = delete;
};

}  // namespace softrnic::iwarp
