// Frames in both directions over one connection: written into the ring of the peer, no more than the peer has
// given credit for. A frame is a sequence of records (copy/records.h).
#pragma once

#include <deque>
#include <functional>

#include "copy/exchange.h"
#include "copy/handshake.h"
#include "copy/records.h"

namespace softrnic::copy {

inline constexpr std::uint32_t kChunk = 372U << 10;  ///< bytes of a file in one frame at most
inline constexpr std::uint32_t kDataSlot = kChunk + 4096;
inline constexpr std::uint32_t kReplySlot = 32U << 10;
inline constexpr std::uint32_t kReplySlots = 8;

/// A side that hears nothing for so long gives the other up.
inline constexpr std::chrono::seconds kSilence{60};
/// A side that has nothing to say says so after this time.
inline constexpr std::chrono::seconds kHeartbeat{10};

class Stream {
 public:
  /// `out_slot`: bytes of a frame at most; the peer's slots may allow less.
  static Result<std::unique_ptr<Stream>> make(ConnectionPtr connection, OwnRing own, const Greeted& peer,
                                              std::uint32_t out_slot);

  /// Frames that come while `put` waits go to `consumer`, which must not put. Without one they wait for
  /// `next`.
  using Consumer = std::function<Result<void>(Bytes)>;
  void consume_with(Consumer consumer) { consumer_ = std::move(consumer); }

  /// Adds a record to the frame that is being filled; sends it when it is full.
  template <typename Record>
  Result<void> put(const Record& record) {
    const std::size_t size = kRecordHeader + size_of(record);
    auto room = need(size);
    if (!room) return Unexpected{room.error()};
    write_header(*room, Record::kType, size - kRecordHeader);
    encode(record, room->subspan(kRecordHeader));
    fill_ += size;
    return {};
  }

  /// Room for the data of a chunk of `wanted` bytes: at least min(wanted, a frame's worth).
  Result<MutableBytes> chunk_room(std::size_t wanted);
  /// What was put at the beginning of the room goes off behind `chunk`.
  Result<void> put_chunk(const Chunk& chunk);
  /// Sends the frame that is being filled.
  Result<void> flush();

  /// The next frame; its bytes stay until `release`. Waits for it.
  Result<Bytes> next();
  void release();
  /// Whether `next` returns at once.
  bool has_next() const { return !frames_.empty(); }

  /// Waits until something comes, at most until `deadline`.
  Result<void> wait(Deadline deadline);
  /// Within long work: keeps the connection alive.
  Result<void> tick();
  /// Waits until all frames have reached the peer.
  Result<void> settle();

  Connection& connection() { return *connection_; }
  /// That both sides have.
  std::uint64_t capabilities() const { return capabilities_; }

 private:
  Stream(ConnectionPtr connection, OwnRing own, const Ring& peer)
      : connection_(std::move(connection)), own_(std::move(own)), peer_(peer) {}

  Result<MutableBytes> need(std::size_t size);
  Result<void> acquire();
  Result<void> take_news();
  Result<void> took_credit(std::uint64_t taken);
  Result<void> took_frame(const News& news);
  bool all_delivered() const;
  Result<void> give_credit();
  Bytes frame_at(std::uint64_t number, std::uint32_t length) const;
  MutableBytes place_of(std::uint64_t slot) const;
  static void write_header(MutableBytes at, RecordType type, std::size_t length);

  ConnectionPtr connection_;
  ExchangePtr exchange_;
  OwnRing own_;
  Ring peer_;
  std::uint64_t capabilities_ = 0;
  Consumer consumer_;
  Buffer out_;
  std::uint32_t out_slots_ = 0, out_slot_size_ = 0, most_in_flight_ = 0;
  std::size_t out_stride_ = 0;  ///< from one place where frames are made to the next
  std::vector<Serial> out_serials_;
  bool acquired_ = false;
  std::size_t fill_ = 0;
  std::uint64_t sent_ = 0, credited_ = 0;                  // frames out
  std::uint64_t received_ = 0, taken_ = 0, returned_ = 0;  // frames in
  std::deque<Bytes> frames_;
  Clock::time_point heard_ = Clock::now(), spoke_ = Clock::now(), ticked_ = Clock::now();
};

using StreamPtr = std::unique_ptr<Stream>;

}  // namespace softrnic::copy
