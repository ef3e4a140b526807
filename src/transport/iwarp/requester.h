// Work requests of the send queue: segments come out, answers to READs and atomics go in, and completions
// are reported in the order of the posts.
//
// A SEND or WRITE is complete when the stream has taken its last byte, as with Linux's siw: TCP delivers
// it or the connection breaks, and its buffer may be used again (RFC 5040 5.5 asks for no more). A READ or
// atomic is complete when its answer is in place.
//
// Where the program takes turns with its peer by WRITEs, the completion of a WRITE waits for the answer, or
// some time: who looks for the answer in memory calls nothing by which the stream could be read, but may poll
// for this completion before (docs/design/iwarp.md).
#pragma once

#include <optional>

#include "base/reason.h"
#include "base/turn_predictor.h"
#include "transport/ib/outbound.h"
#include "transport/iwarp/segment_taker.h"
#include "wire/terminate.h"

namespace softrnic::iwarp {

class Requester {
 public:
  using Index = ib::SendQueue::Index;
  /// A completion waits for an answer so long, and until the program polls or the engine thread comes.
  static constexpr Duration kPatience = TurnPredictor::kSoon;
  /// Two who take turns answer within this time, before anybody polls for it.
  static constexpr Duration kTurn = 5 * kPatience;

  Requester(Context& context, const ib::Capacity& capacity) : context_(context), queue_(capacity) {}

  ib::SendSlot reserve() { return queue_.reserve(); }
  void commit() {
    complete_delayed();    // the program does not wait for the answer
    turns_.interrupted();  // and the peer may answer this one
    queue_.commit();
  }
  std::uint32_t outstanding() const { return queue_.size(); }

  // ---- out

  /// The next segment of a request. False: there is none at present, or failed() tells what is wrong with
  /// the work request in front.
  bool next_segment(TxSegment& out, std::size_t max_ulpdu);
  std::optional<SegmentSource::Pieces> payload(const TxSegment& segment, std::size_t from,
                                               std::span<Bytes> out);
  void segment_sent(const TxSegment& segment);
  /// After one or more of those, of requests: reports what is complete by that.
  void complete_sent(TimePoint now);
  /// When a WRITE is complete whose completion waits for the peer's answer, or kNever.
  TimePoint delayed_until() const { return delayed_until_; }
  /// It is, without an answer.
  void complete_delayed();
  /// A message of the peer has come.
  void peer_spoke(TimePoint now);
  bool in_message() const { return offset_ > 0 || immediate_due_; }
  /// The message that tells the responder that this side is ready.
  void make_ready(std::uint8_t rtr, TxSegment& out);

  struct Failure {
    ib::Status status;
    Reason reason;
    Index index = 0;  ///< of the work request
  };
  /// One that cannot be carried out, which shows when it begins or when its payload is to be sent.
  const std::optional<Failure>& failed() const { return failed_; }

  // ---- in: answers

  /// The work request that the next answer belongs to; nothing: none waits for one.
  std::optional<Index> awaited() const;
  const ib::SendWqe& request(Index index) const { return queue_.at(index).wqe; }
  std::span<const ib::Sge> sges(Index index) const { return queue_.sges(queue_.at(index)); }
  /// It has come.
  void answered(Index index);
  /// READs and atomics that are posted and not answered.
  std::uint32_t unanswered() const;
  /// The READ that told that this side is ready is to be answered next.
  bool ready_awaited() const { return ready_awaited_; }
  void ready_answered() { ready_awaited_ = false; }

  // ---- ends

  /// Ends all work requests: the one at fault with the failure's status, the others as flushed.
  void fail(const Failure& failure);
  /// Ends the one that the next answer belongs to so, and the others as flushed.
  void fail_awaited(const Failure& failure) {
    end(awaited().value_or(queue_.tail()), failure.status, failure.reason);
  }
  void flush();
  /// The peer has refused a request of queue 1, which the message names: whether a work request is to blame,
  /// which ends with its status. All others are flushed.
  bool blame(const wire::Terminate& message);
  void reset();

 private:
  bool asks(Index index, const wire::ReadRequest& read) const;
  std::optional<Index> named_by(const wire::Terminate& message) const;
  bool begin(ib::SendEntry& entry);
  std::optional<Failure> check(const ib::SendEntry& entry) const;
  std::optional<Failure> check_memory(const ib::SendEntry& entry) const;
  void fails(Index index, const Failure& failure);
  bool execute_local();
  void make_message(ib::SendEntry& entry, TxSegment& out, std::size_t max_ulpdu);
  void make_immediate(const ib::SendEntry& entry, TxSegment& out);
  void make_read(const ib::SendEntry& entry, TxSegment& out);
  void make_atomic(const ib::SendEntry& entry, TxSegment& out);
  void message_made(TxSegment& out);
  bool sent_write_alone() const;
  void end_delay();
  void retire();
  void end(Index blamed, ib::Status status, const Reason& reason);

  Context& context_;
  ib::SendQueue queue_;
  Index next_ = 0;            ///< to be made into segments
  Index sent_ = 0;            ///< one past the last that the stream has taken
  Index answered_ = 0;        ///< READs and atomics before this one are answered
  std::uint32_t offset_ = 0;  ///< bytes of `next_` that have been made
  bool immediate_due_ = false;
  bool ready_awaited_ = false;
  std::uint32_t answers_due_ = 0;  ///< READs and atomics made and not answered
  std::uint32_t send_msn_ = 1;     ///< of queue 0
  std::uint32_t request_msn_ = 1;  ///< of queue 1
  std::optional<Failure> failed_;
  TurnPredictor turns_{kTurn};  ///< of WRITEs, each of which the peer answers
  TimePoint delayed_until_ = kNever;
  // where payload() stands
  Index gathered_ = 0;
  ib::SgeCursor cursor_;
  ib::TxPacket scratch_;
};

}  // namespace softrnic::iwarp
