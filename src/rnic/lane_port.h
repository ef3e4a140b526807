// What a queue pair asks of the lane it lives on. The engine implements it, tests fake it.
//
// A lane has one lock. It guards every QP of the lane, their endpoints and the link below. Lock order:
// lane → SRQ → CQ → completion channel. Nothing holds a CQ's or SRQ's lock while it takes a lane's.
#pragma once

#include <infiniband/verbs.h>
#include <sys/uio.h>

#include <cerrno>
#include <optional>
#include <span>

#include "base/expected.h"
#include "base/kernel_drop.h"
#include "base/quick_mutex.h"
#include "base/reason.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "rnic/stream_port.h"
#include "transport/ib/endpoint.h"

namespace softrnic::rnic {

class CompletionQueue;
class Flow;
class QueuePair;
class WorkQueue;

/// A piece of a message that is to go without packets.
struct DirectStep {
  const QueuePair& qp;
  const ib::SendWqe& wqe;
  std::uint32_t psn = 0;     ///< that the peer has to expect
  std::uint32_t offset = 0;  ///< of the piece in the message
  std::uint32_t bytes = 0;
  std::span<const iovec> local{};  ///< that many bytes of this side's memory, checked
};

/// How it went.
enum class DirectResult : std::uint8_t {
  none,    ///< nothing was done, or not all of it
  attach,  ///< by cross-memory attach, or within this process
  mapped,  ///< through memory of the peer that is mapped here
};

/// What a call of progress() has cost.
enum class Effort : std::uint8_t {
  useful,      ///< something came, if perhaps not for that queue
  quick_poll,  ///< some nanoseconds
  look,        ///< about as much as a system call, or more
};

/// Where a thread that polls a completion queue wants what it finds for it: the array it was called with.
struct CompletionSink {
  CompletionQueue* cq = nullptr;  ///< nullptr: there is none
  ibv_wc* next = nullptr;
  ibv_wc* end = nullptr;
};

/// What this host knows of a peer that does not answer. Nothing where there is no network in between.
struct Silence {
  std::uint32_t mtu = 0;       ///< on the way there, in bytes of an IP packet; 0: not known
  KernelDropCounts dropped{};  ///< meanwhile
  Duration within{};           ///< that long
};

class LanePort {
 public:
  /// Bytes; others of the lane wait as long as that takes
  static constexpr std::uint32_t kDirectPiece = 4U << 20;

  virtual QuickMutex& mutex() = 0;

  // ---- with the lock held

  /// Gives the QP a number on this lane and lets packets reach it. The QP knows neither its number nor its
  /// endpoint yet; changed() follows when it does, still with the lock held.
  virtual Expected<Qpn, Failure> attach(QueuePair& qp) = 0;
  /// The QP is going away: no packet, timer, scheduling or local peer reaches it afterwards.
  virtual void detach(QueuePair& qp) = 0;
  /// The QP's endpoint has something to send: sends it from this thread, as far as windows allow.
  /// Also the end of every verb that may have delivered completions.
  virtual void transmit(QueuePair& qp) = 0;
  /// transmit() for a post whose work requests have all been carried out already (Endpoint::go_at_once).
  virtual void completed_direct(QueuePair& qp) { transmit(qp); }
  /// Handles what has arrived, a bounded amount. Before work is flushed: an adapter had done so when it came.
  virtual void take_arrived() {}
  /// Keeps a completion until the packets of the present batch (ACKs above all) have left, then publishes it
  /// with CompletionQueue::push(). Outside a batch it publishes at the end of the call that holds the lock.
  virtual void deliver(CompletionQueue& cq, const ibv_wc& wc, bool solicited) = 0;
  /// Completions of `qp` that wait in the present batch are dropped (destroy, RESET).
  virtual void discard(QueuePair& qp) = 0;
  virtual ib::PathWindow& window(const ib::AddressVector& path, Qpn remote) = 0;
  /// The QP is about to have another window, and does not wait for its present one any more. Not from within
  /// its transmit().
  virtual void leave_window(QueuePair& qp) { static_cast<void>(qp); }
  /// For services without acknowledgement: the window to a receiver whose buffer can be looked at, or
  /// that can be asked; else nullptr.
  virtual ib::PathWindow* gauged_window(const ib::AddressVector& path, Qpn remote) {
    static_cast<void>(path);
    static_cast<void>(remote);
    return nullptr;
  }
  /// What is known of a peer that does not answer; the MTU is asked for after a full packet alone.
  virtual Silence silence(const ib::AddressVector& path, bool full_packet) {
    static_cast<void>(path);
    static_cast<void>(full_packet);
    return {};
  }
  /// Whether the QP's peer is on this host and lets others at its memory.
  virtual bool may_go_direct(const QueuePair& qp) {
    static_cast<void>(qp);
    return false;
  }
  /// See ib::Host::direct().
  virtual DirectResult direct(const DirectStep& step) {
    static_cast<void>(step);
    return DirectResult::none;
  }
  /// The same for a message that moves nothing: whether the peer has taken it.
  virtual bool direct_empty(const DirectStep& step) {
    static_cast<void>(step);
    return false;
  }
  /// See ib::Host::execute_atomic().
  virtual Expected<std::uint64_t, Reason> execute_atomic(std::uint64_t* word,
                                                         const ib::AtomicOperation& operation) {
    return ib::execute(word, operation);
  }
  /// Returns when nobody acts on what a memory window has allowed before it was changed: neither local peers
  /// nor other lanes of this process. From the endpoints' transmit() and receive().
  virtual void wait_for_accessors() {}
  virtual bool join(QueuePair& qp, const wire::Gid& group) = 0;
  virtual bool leave(QueuePair& qp, const wire::Gid& group) = 0;
  /// See ib::Host.
  virtual ib::Total* totals() { return nullptr; }
  /// The same for a work queue: its number, which is no QPN.
  virtual Expected<std::uint32_t, Failure> attach(WorkQueue& queue) {
    static_cast<void>(queue);
    return 1U << 24;
  }
  virtual void detach(WorkQueue& queue) { static_cast<void>(queue); }
  /// Work queues: the end of a verb that may have delivered completions.
  virtual void publish_completions() {}
  /// Frames that meet the rule of `flow` go to its queue pair, which is on this lane, from now on. EPERM and
  /// what else stands in the way; not explained.
  virtual Expected<void, Failure> add_flow(Flow& flow) {
    static_cast<void>(flow);
    return {};
  }
  virtual void remove_flow(Flow& flow) { static_cast<void>(flow); }
  /// From now on the lane drives this stream, which is connected, for `qp`: what comes is handed to its
  /// endpoint, what that has to send is written, and it ends as that wishes. start.token names it to whoever
  /// hears of its end. Takes `socket` on success only. EINVAL: it is no such; EMFILE, ENOMEM. Not explained.
  virtual Expected<StreamPort*, Failure> add_stream(QueuePair& qp, UniqueFd& socket,
                                                    const StreamStart& start);
  /// The stream is not used any more; if it has not ended it is closed, and what was written arrives.
  virtual void remove_stream(StreamPort& stream) { static_cast<void>(stream); }
  virtual TimePoint now() = 0;
  /// The state or the attributes of an attached QP have changed (for its rows in the pages that others read).
  /// Waits until nobody acts on the old ones.
  virtual void changed(QueuePair& qp) { static_cast<void>(qp); }

  // ---- without the lock

  /// The queue goes away: tell_when_due() is not called for it any more.
  virtual void forget(CompletionQueue& cq) { static_cast<void>(cq); }
  /// Reads and handles what has come in, sends what is due, publishes completions: those of *sink.cq to
  /// the sink, as long as CompletionQueue::may_pass() and there is room. Returns at once when another
  /// thread is at it. For poll_cq.
  virtual Effort progress(CompletionSink& sink) = 0;
  /// Takes and releases the lock, so that whoever was inside the lane before is out (dereg_mr).
  virtual void quiesce() = 0;

 protected:
  ~LanePort() = default;
};

}  // namespace softrnic::rnic
