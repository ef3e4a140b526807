// Packets from one lane to another of the same host, through memory that both map.
//
// A ring of records with one writer and one reader. A record begins with its size, which is written last:
// that, and not a position elsewhere, tells the reader that it is there, so a message costs the transfer of
// the cache lines it is in and no other. Before that the place behind the record is marked as empty. So the
// records that lie there can always be told from what is left of older ones, and who takes over the ring of a
// writer that died finds its end.
//
//   record:  RingRecord | BTH and extensions | payload and pad            (a multiple of 64 bytes)
//            RingRecord | RingPieces that name the payload | BTH and extensions
//            RingRecord | RingEager | payload
//
// Neither side trusts what the other has written: sizes are checked, and values are used as they were
// when they were looked at.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "base/bytes.h"
#include "transport/ib/eager_send.h"
#include "transport/ib/types.h"
#include "wire/gid.h"

namespace softrnic::samehost {

inline constexpr std::size_t kRingBytes = 512 * 1024;
inline constexpr std::size_t kRingLine = 64;

/// In shared memory; all zeros is an empty ring.
struct alignas(4096) PacketRing {
  std::atomic<std::uint64_t> read;  ///< bytes read since the beginning; written by the reader
  alignas(kRingLine) std::byte records[kRingBytes];
};

enum class RingKind : std::uint8_t {
  skip,        ///< nothing up to the end of the memory
  route,       ///< a RingRoute: where the packets behind it come from and go to
  packet,      ///< with its payload
  rendezvous,  ///< a packet whose payload is in the memory of the sender's process
  eager,       ///< an ib::EagerSend
};

struct RingRecord {
  std::uint32_t size = 0;  ///< bytes, this included; 0: not written yet
  RingKind kind{};
  std::uint8_t header_bytes = 0;  ///< BTH and extensions
  std::uint16_t pieces = 0;       ///< rendezvous
  std::uint32_t payload_bytes = 0;
  std::uint32_t packets = 1;  ///< see ib::TxPacket
};
static_assert(sizeof(RingRecord) == 16);

/// An ib::EagerSend, and by what its sender will know the answer (EagerAck).
struct RingEager {
  std::uint32_t destination = 0;
  std::uint32_t psn = 0;
  std::uint32_t immediate = 0;
  std::uint32_t token = 0;
  std::uint16_t pkey = 0;
  std::uint8_t has_immediate = 0;
  std::uint8_t solicited = 0;
  std::uint32_t reserved32 = 0;
};
static_assert(sizeof(RingEager) == 24);

/// What an IP header and the socket would tell of a packet.
struct RingRoute {
  wire::Gid source;
  wire::Gid destination;
  std::uint32_t flow_label = 0;
  std::uint32_t interface_index = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint16_t reserved16 = 0;
  std::uint32_t reserved32 = 0;
  bool operator==(const RingRoute& other) const { return std::memcmp(this, &other, sizeof other) == 0; }
};
static_assert(std::has_unique_object_representations_v<RingRoute>);

/// A piece of a payload by its address in the sender's process, and the region that it lies in.
struct RingPiece {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  MemoryKey key;
};

/// Not thread-safe.
class RingWriter {
 public:
  /// Goes on where the last writer of `ring` stopped. The memory outlives this object.
  explicit RingWriter(PacketRing& ring);

  /// `rendezvous`: names the payload by its fragments, which all lie in regions. False: there is no room.
  bool write(const ib::TxPacket& packet, bool rendezvous);
  /// False: there is no room.
  bool write(const ib::EagerSend& eager, const ib::AddressVector& path, std::uint32_t token);
  /// What packets may take for certain that are counted at ib::datagram_cost(), which includes what may have
  /// to be skipped at the end of the memory. While a quarter at most is in use, there may be more.
  std::size_t room();
  /// Bytes that the reader has not given back.
  std::size_t unread();
  /// How far the reader is.
  std::uint64_t position_read() const { return ring_->read.load(std::memory_order_acquire); }

 private:
  std::byte* at(std::uint64_t position) const { return ring_->records + position % kRingBytes; }
  void publish(std::size_t size, RingRecord record);
  bool make_room(std::size_t size);
  bool write_route(const ib::AddressVector& path);

  PacketRing* ring_;
  std::uint64_t end_;   ///< of what is written
  std::uint64_t read_;  ///< as far as it is known
  std::optional<RingRoute> route_;
};

/// A record of a packet.
struct RingPacket {
  RingRecord record;
  const RingRoute* route = nullptr;
  Bytes headers;  ///< with payload and pad behind them, unless they are elsewhere
  std::span<const RingPiece> pieces;
};

/// A record of an eager send.
struct RingEagerSend {
  ib::EagerSend eager;
  std::uint32_t token = 0;
  const RingRoute* route = nullptr;
};

/// Not thread-safe, but for any().
class RingReader {
 public:
  /// The first reader of the memory.
  explicit RingReader(PacketRing& ring) : ring_(&ring) {}

  bool any() const;
  /// The oldest packet; nothing when there is none, or an eager send is before it. It
  /// stays there until pop().
  std::optional<RingPacket> front();
  /// The oldest eager send; nothing when there is none, or a packet is before it. It stays there until pop().
  bool front(RingEagerSend& out);
  void pop() { advance(front_size_); }
  /// Gives the memory of what was taken back to the writer.
  void give_back() {
    given_back_ = position();
    ring_->read.store(given_back_, std::memory_order_release);
  }
  /// The writer has written what no writer of ours writes. Nothing is read any more.
  bool broken() const { return broken_.load(std::memory_order_relaxed); }

 private:
  std::uint64_t position() const { return next_.load(std::memory_order_relaxed); }
  std::byte* next() const { return ring_->records + position() % kRingBytes; }
  void advance(std::size_t bytes) { next_.store(position() + bytes, std::memory_order_relaxed); }
  bool credible(const RingRecord& record) const;
  bool find(RingRecord& record);
  std::optional<RingPacket> open(const RingRecord& record) const;
  void give_up();

  PacketRing* ring_;
  std::atomic<std::uint64_t> next_{0};
  std::uint64_t given_back_ = 0;  ///< what `read` was set to; that may have been changed since
  std::size_t front_size_ = 0;
  RingRoute route_;
  std::atomic<bool> broken_{false};
};

}  // namespace softrnic::samehost
