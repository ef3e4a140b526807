// What an endpoint asks of the adapter it lives in. The transport calls it; rnic and the simulator implement
// it.
//
// Calls come from inside receive(), transmit(), expire() and flush(), under whatever lock guards the
// endpoint. An implementation must not call back into the same endpoint.
#pragma once

#include <cstring>
#include <optional>
#include <span>

#include "base/expected.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

class PathWindow;

/// Memory of this process that a key gives access to.
struct HostMemory {
  std::byte* at = nullptr;
  /// Of a region with on-demand paging: the program may unmap it at any time, so that only Host::load() and
  /// Host::store() may go there.
  bool on_demand = false;
};

/// What is left of a message that may take a shorter way than packets.
struct DirectMessage {
  const SendWqe& wqe;
  std::span<const Sge> sges;               ///< empty when inline
  const std::byte* inline_data = nullptr;  ///< of an inline message
  std::uint32_t offset = 0;                ///< bytes that were moved already
  std::uint32_t psn = 0;  ///< what the peer expects next, if all that went before has arrived; 24 bits
};

enum class AtomicKind : std::uint8_t { fetch_add, compare_swap, write };

/// An atomic operation on a word of this host (IBTA 9.4.5; write: ATOMIC WRITE, A19).
struct AtomicOperation {
  AtomicKind kind{};
  std::uint64_t operand = 0;  ///< to add, to swap in, or to write
  std::uint64_t compare = 0;
};

/// Executes it with an atomic instruction; returns the value before.
inline std::uint64_t execute(std::uint64_t* word, const AtomicOperation& operation) {
  if (operation.kind == AtomicKind::fetch_add)
    return __atomic_fetch_add(word, operation.operand, __ATOMIC_SEQ_CST);
  if (operation.kind == AtomicKind::write)
    return __atomic_exchange_n(word, operation.operand, __ATOMIC_SEQ_CST);
  std::uint64_t original = operation.compare;
  __atomic_compare_exchange_n(word, &original, operation.operand, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return original;
}

/// What an endpoint wants with memory of its own SGEs.
enum class LocalUse : std::uint8_t {
  send,      ///< to read what it sends
  response,  ///< to write what a READ or atomic has brought
  receive,   ///< to write what came for a posted receive: its keys go by the queue that it was posted to
};

class Host {
 public:
  /// Memory of the endpoint's own SGEs. The pointer is good until the call into the endpoint returns.
  virtual Expected<HostMemory, Reason> local_memory(MemoryKey lkey, std::uint64_t address,
                                                    std::uint64_t length, LocalUse use) = 0;
  /// Memory a peer named by rkey; checks PD, range and region access. `access` is one of the remote Access
  /// bits.
  virtual Expected<HostMemory, Reason> remote_memory(MemoryKey rkey, std::uint64_t address,
                                                     std::uint64_t length, std::uint32_t access) = 0;
  /// FLUSH of all of a region: whether a peer may do that with this key.
  virtual Expected<void, Reason> remote_region(MemoryKey rkey, std::uint32_t access);
  /// Copies `size` bytes from or to memory with on-demand paging. False: not all of it is there, or may be
  /// written.
  virtual bool load(std::byte* to, const std::byte* on_demand, std::size_t size) {
    std::memcpy(to, on_demand, size);
    return true;
  }
  virtual bool store(std::byte* on_demand, const std::byte* from, std::size_t size) {
    std::memcpy(on_demand, from, size);
    return true;
  }
  /// Room for `size` bytes on their way between such memory and packets, good until the next call into the
  /// endpoint, or until more is asked for. nullptr: there is no memory for it.
  virtual std::byte* bounce_buffer(std::size_t size) = 0;
  /// SEND_WITH_INV: takes the key out of use; fails when the QP may not invalidate it.
  virtual Expected<void, Reason> invalidate(MemoryKey rkey) = 0;

  /// An XRC target: the request at hand names this SRQ. Its receives are taken from now on, and keys of
  /// its protection domain hold. Fails when the XRC domain of the QP has no such SRQ here.
  virtual Expected<void, Reason> select_srq(std::uint32_t number);
  /// local_invalidate or bind_window. From when this returns nobody uses what the window has allowed before.
  virtual Expected<void, Reason> execute_locally(const SendWqe& wqe);

  /// Takes the next receive off the RQ or SRQ; nullptr when none is posted. It belongs to the endpoint until
  /// the matching complete(RecvDone).
  virtual const RecvWqe* take_receive() = 0;
  /// The same for a SEND, where lookahead() is not 0: its first packet has `size` bytes of payload, of which
  /// these are the first, and is all of it if `whole`.
  virtual const RecvWqe* take_receive_for(Bytes first, std::size_t size, bool whole) {
    static_cast<void>(first);
    static_cast<void>(size);
    static_cast<void>(whole);
    return take_receive();
  }
  /// How many bytes of a SEND decide which receive it takes; 0: none, it takes the next.
  std::size_t lookahead() const { return lookahead_; }
  static constexpr std::size_t kMostLookahead = 64;
  /// How many more it could take; nothing: others take from the same queue (SRQ), or nobody counts.
  virtual std::optional<std::uint32_t> receives_posted() const { return std::nullopt; }

  /// The window of a datagram's path; nullptr: that of Endpoint::set_window(), which serves all destinations.
  virtual PathWindow* window_to(const AddressVector& path, Qpn remote) {
    static_cast<void>(path);
    static_cast<void>(remote);
    return nullptr;
  }

  /// Whether direct() has a chance with messages to the peer of this endpoint at present.
  virtual bool may_go_direct() { return false; }
  /// Moves the next bytes of a message between this side's memory and the peer's, without packets: only what
  /// the peer would do for the packets of this message, as it stands now, without any fault. Returns how many
  /// (for atomics: the length of the work request). Nothing: the message goes by packets from its beginning,
  /// and they find out what is wrong.
  virtual std::optional<std::uint32_t> direct(const DirectMessage& message) {
    static_cast<void>(message);
    return std::nullopt;
  }
  /// An atomic operation of the peer on memory that remote_memory() has given out, not with on-demand paging;
  /// the value before. Fails when somebody else is at that word and does not finish.
  virtual Expected<std::uint64_t, Reason> execute_atomic(std::uint64_t* word,
                                                         const AtomicOperation& operation) {
    return execute(word, operation);
  }

  /// The same on a word with on-demand paging. Nothing: it is not there.
  virtual std::optional<std::uint64_t> execute_on_demand(std::byte* word, const AtomicOperation& operation) {
    return execute(reinterpret_cast<std::uint64_t*>(word), operation);
  }

  /// The peer has an alternate path as well: the endpoint is in Migration::armed.
  virtual void armed() {}
  /// The endpoint has gone to its alternate path (Attributes::migrate()), and has nothing in flight. The
  /// window of the path that it has now; nullptr: unlimited.
  virtual PathWindow* migrated() { return nullptr; }

  virtual void complete(const SendDone& done) = 0;
  virtual void complete(const RecvDone& done) = 0;

  /// The peer has used all the receives it was told of: Endpoint::receives_posted() is to be called once
  /// there are more.
  void want_receives(bool wanted) { receives_wanted_ = wanted; }

  /// A work request has ended, or a request of the peer: for whoever counts such, signaled or not. `bytes`
  /// are those of a success. Nearly nobody counts, and then it costs a branch.
  void ended(Counted operation, bool success, std::uint64_t bytes) {
    if ((counted_ & bit_of(operation)) != 0) [[unlikely]]
      add_ended(operation, success, bytes);
  }
  void ended(SendOp op, bool success, std::uint64_t bytes) {
    if (counted_ == 0) [[likely]]
      return;
    if (const auto operation = counted_as(op)) ended(*operation, success, bytes);
  }

  /// fatal, request_error and access_error: the endpoint has put itself into the error state already.
  virtual void event(QpEvent event) = 0;
  /// `wr_id`: of the work request it is about, or nullptr. Figure 0 of drop_qp_not_ready is left to the host.
  virtual void explain(const Reason& reason, const std::uint64_t* wr_id) = 0;
  void count(Counter counter, std::uint64_t by = 1) {
    counters_[counter] += by;
    if (totals_ != nullptr) add(totals_[static_cast<std::size_t>(counter)], by);
  }

 protected:
  /// `counters` are the endpoint's, `totals` (by Counter; may be none) those of all that the adapter adds
  /// up. Both are the adapter's, and live as long as it. Plain memory and no call, as several things are
  /// counted for each message.
  explicit Host(Counters& counters, Total* totals = nullptr) : counters_(counters), totals_(totals) {}
  ~Host() = default;

  /// From now on add_ended() is called for these too (bits of Counted).
  void count_ends_of(std::uint8_t operations) { counted_ |= operations; }
  std::uint8_t counted() const { return counted_; }
  /// At most kMostLookahead.
  void look_ahead(std::size_t bytes) { lookahead_ = static_cast<std::uint8_t>(bytes); }
  bool receives_wanted() const { return receives_wanted_; }

 private:
  virtual void add_ended(Counted operation, bool success, std::uint64_t bytes) {
    static_cast<void>(operation);
    static_cast<void>(success);
    static_cast<void>(bytes);
  }

  Counters& counters_;
  Total* const totals_;
  bool receives_wanted_ = false;
  std::uint8_t lookahead_ = 0;
  std::uint8_t counted_ = 0;  ///< here, as whoever counts anything has this cache line
};

}  // namespace softrnic::ib
