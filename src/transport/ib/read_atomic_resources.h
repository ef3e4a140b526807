// What the responder remembers of READs and atomics: the ones it still answers and the last ones it answered,
// in case their answers get lost (IBTA 9.7.5.1.4, 9.7.5.1.5: responder resources).
#pragma once

#include <cstdint>
#include <memory>

#include "transport/ib/psn.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

/// What a request is answered with.
enum class Answer : std::uint8_t {
  data,     ///< READ responses
  word,     ///< an atomic acknowledge
  nothing,  ///< a READ response of no bytes: FLUSH, ATOMIC WRITE
};

/// A READ, an atomic or the like. Packets are counted from `first`; [next, stop) of them are still to be
/// sent.
struct ReadAtomic {
  Psn first;
  std::uint64_t address = 0;
  std::uint64_t original = 0;  ///< atomics: the value before
  MemoryKey rkey;
  std::uint32_t length = 0;  ///< READ: bytes
  std::uint32_t packets = 1;
  std::uint32_t srqn = 0;   ///< XRC: the SRQ by whose keys it goes; 0: by those of the QP
  std::uint32_t msn = 0;    ///< after this request
  std::uint32_t begin = 0;  ///< first packet of the answer being sent; it has opcode FIRST or ONLY
  std::uint32_t next = 0;
  std::uint32_t stop = 0;
  std::uint32_t stop_offset = 0;  ///< bytes from `address` at which the answer being sent ends
  Answer kind = Answer::data;
  bool answered = false;  ///< to its end, at least once
  bool again = false;     ///< the peer has asked for it again

  bool pending() const { return next != stop; }
  bool covers(Psn psn) const { return psn >= first && psn - first < packets; }
  void sent(std::uint32_t count = 1) {
    next += count;
    if (next == packets) answered = true;
  }
  void answer(std::uint32_t from, std::uint32_t to, std::uint32_t end_offset) {
    begin = next = from;
    stop = to;
    stop_offset = end_offset;
  }
};

/// A ring of max_dest_rd_atomic of them, oldest overwritten first.
class ReadAtomicResources {
 public:
  /// Allocates; forgets what was there.
  void resize(std::uint32_t places) {
    clear();
    if (places > places_) ring_ = std::make_unique<ReadAtomic[]>(places);
    places_ = places;
  }
  void clear() { count_ = pending_from_ = 0; }

  /// Whether take() will give one.
  bool has_place() { return places_ != 0 && (count_ - oldest() != places_ || at(oldest()).answered); }

  /// A fresh place, or nullptr when the oldest was not answered yet: more are outstanding than was
  /// agreed. One that is merely being answered again may be overwritten, as the peer would not ask for
  /// more if it still needed that.
  ReadAtomic* take() {
    if (!has_place()) return nullptr;
    ReadAtomic& place = at(count_++);
    place = ReadAtomic();
    return &place;
  }

  /// The one that has this PSN, or nullptr when it is forgotten.
  ReadAtomic* find(Psn psn) {
    for (std::uint64_t i = count_; i != oldest(); --i) {
      if (at(i - 1).covers(psn)) return &at(i - 1);
    }
    return nullptr;
  }

  /// The first in PSN order that has something to send, or nullptr.
  ReadAtomic* pending() {
    if (pending_from_ < oldest()) pending_from_ = oldest();
    while (pending_from_ != count_ && !at(pending_from_).pending()) ++pending_from_;
    return pending_from_ == count_ ? nullptr : &at(pending_from_);
  }
  /// To be called after answer() on one that is not the newest.
  void rescan() { pending_from_ = oldest(); }
  void drop_pending() {
    for (std::uint64_t i = oldest(); i != count_; ++i) at(i).stop = at(i).next;
  }

  std::uint32_t places() const { return places_; }
  std::size_t heap_bytes() const { return places_ * sizeof(ReadAtomic); }

 private:
  std::uint64_t oldest() const { return count_ > places_ ? count_ - places_ : 0; }
  ReadAtomic& at(std::uint64_t index) { return ring_[index % places_]; }

  std::unique_ptr<ReadAtomic[]> ring_;
  std::uint32_t places_ = 0;
  std::uint64_t count_ = 0;  ///< ever taken
  std::uint64_t pending_from_ = 0;
};

}  // namespace softrnic::ib
