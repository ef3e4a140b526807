// How two sides put frames into each other's rings, and hear of frames and credit. There are two ways, which
// a connection settles at its greeting (docs/copy-protocol.md): messages, and boards.
#pragma once

#include <memory>
#include <optional>

#include "copy/connection.h"
#include "copy/records.h"

namespace softrnic::copy {

/// Where frames begin within a page: the data of a chunk that opens a frame then begins with the next page,
/// as direct input and output want it.
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kFrameLead = kPage - kChunkHead;

/// The ring of a side, registered for the peer's writes, and behind its slots the board.
struct OwnRing {
  Buffer buffer;
  Ring ring;

  MutableBytes frame(std::uint32_t slot, std::uint32_t length) const {
    return buffer.bytes().subspan(kFrameLead + std::size_t{slot} * ring.slot_size, length);
  }
  MutableBytes board() const { return buffer.bytes().subspan(kFrameLead + ring.bytes()); }
};
/// `slot_size`: a multiple of pages.
Result<OwnRing> make_ring(Connection& connection, std::uint32_t slots, std::uint32_t slot_size,
                          unsigned access = IBV_ACCESS_REMOTE_WRITE);

/// What the peer has let this side know.
struct News {
  enum class Kind : std::uint8_t { frame, credit, alive };
  Kind kind = Kind::alive;
  std::uint32_t slot = 0, length = 0;  ///< of a frame
  std::uint64_t taken = 0;             ///< credit: frames that the peer has taken since the beginning
};

/// Used by one thread. The queue pairs of the connection take turns, frame by frame. Of what the peer says
/// nothing is checked but its form.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// RDMA WRITE of `frame` (memory of `lkey`, left alone until the operation is done) into a
  /// slot of the peer's ring.
  virtual Result<Serial> put_frame(Bytes frame, std::uint32_t lkey, std::uint32_t slot) = 0;
  virtual Result<void> give_credit(std::uint64_t taken) = 0;
  /// A sign of life.
  virtual Result<void> greet(std::uint64_t taken) = 0;
  /// Makes progress: returns when there is news, when an operation is done, or at the deadline.
  virtual Result<void> wait(Deadline deadline) = 0;
  /// What came first and was not taken yet.
  virtual Result<std::optional<News>> take() = 0;
};
using ExchangePtr = std::unique_ptr<Exchange>;

/// To sleep and be woken costs about as much: while data flows, frames follow each other faster than that.
inline constexpr auto kSpin = std::chrono::microseconds(50);

/// Frames by WRITE with immediate data, credit by SEND.
ExchangePtr exchange_by_messages(Connection& connection, const OwnRing& own, const Ring& peer);
/// Frames by WRITE, and everything that is to be known of them by WRITE too: see copy/board.cc.
Result<ExchangePtr> exchange_by_boards(Connection& connection, const OwnRing& own, const Ring& peer);

}  // namespace softrnic::copy
