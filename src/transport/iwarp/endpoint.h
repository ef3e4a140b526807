// The iWARP transport of one queue pair, from when MPA has set its connection up: a state machine without
// I/O.
//
//   post:   reserve(), commit()
//   in:     receive(), or room() and filled() for payload that is read straight to its place; while waits(),
//           nothing is to be read, and try_again() looks whether that is over
//   out:    gather(), sent()
//   stream: wish() says what is to become of it; stream_ended() what became of it
//   time:   deadline(), expire()
//
// Each call may change what gather(), wish() and deadline() say, and reports completions to the Host. Not
// thread-safe: the caller holds the lock of the lane. Nothing is allocated after start(), but for a copy
// of what is left of an FPDU when a connection is given up, and of what came while a receive was missing.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "transport/endpoint.h"
#include "transport/iwarp/inbound.h"
#include "transport/iwarp/mpa_receiver.h"
#include "transport/iwarp/mpa_sender.h"
#include "transport/iwarp/stream_endpoint.h"

namespace softrnic::iwarp {

enum class Phase : std::uint8_t {
  idle,         ///< before start()
  running,      ///< RDMA mode
  closing,      ///< what is posted is sent to its end, then this side of the stream is ended
  terminating,  ///< this side gives up: a Terminate message is sent, and nothing taken any more
  ended,        ///< nothing more goes either way
};

class Endpoint final : public transport::Endpoint, public StreamEndpoint, private SegmentSource {
 public:
  Endpoint(const ib::Capacity& capacity, ib::Host& host);

  // ---- commands

  /// The stream carries FPDUs from its next byte on. `early`: see MpaReceiver.
  void start(const Attributes& attributes, const MpaAgreement& agreement, TimePoint now, bool early = false);
  void update(const Attributes& attributes);
  /// What the peer may do from now on (ib::needs_of); what it has asked for before is answered.
  void set_access(std::uint32_t access) { context_.attributes.access = access; }
  /// In good order: what is posted is finished, nothing further is posted. It is given up when nothing that
  /// is to be sent or answered has moved for Attributes::close_timeout, or nothing of what this side asks for
  /// in kMostCloseTimeouts times that.
  void close(TimePoint now) override;
  static constexpr int kMostCloseTimeouts = 6;
  /// To ERR: ends everything that is posted as flushed, and the connection at once.
  void flush() override;
  /// Forgets everything without completions.
  void reset() override;

  // ---- posts

  ib::SendSlot reserve() override { return requester_.reserve(); }
  void commit() override;
  std::uint32_t outstanding_sends() const override { return requester_.outstanding(); }

  // ---- in

  void receive(Bytes bytes, TimePoint now) override;
  MutableBytes room() override;
  void filled(std::size_t count, TimePoint now) override;
  /// A message has come that no receive is posted for. iWARP has no RNR NAK, but TCP holds the peer back.
  /// After kReceivePatience the connection is given up.
  bool waits() const override { return takes_input() && receiver_->waits(); }
  void try_again(TimePoint now) override;

  // ---- out

  std::size_t gather(std::span<Bytes> out, TimePoint now) override;
  void sent(std::size_t count, TimePoint now) override;
  /// How often it is looked whether the reply of MPA has arrived.
  static constexpr Duration kReplyLooks = kFirstWordPatience / 4;
  bool hesitates() const override { return speaks_at_ != kNever && !may_speak(); }
  void reply_arrived(bool yes, TimePoint now) override;
  bool spoke_first() const override { return spoke_ && !inbound_.heard(); }
  TimePoint delayed_until() const override { return requester_.delayed_until(); }
  void complete_delayed() override { requester_.complete_delayed(); }

  // ---- the stream

  StreamWish wish() const override;
  void shut_down_done(TimePoint now) override;
  void stream_ended(StreamEnd end, TimePoint now) override;
  TimePoint deadline() const override;
  void expire(TimePoint now) override;

  // ---- what others may see

  Phase phase() const { return phase_; }
  Ending ending() const override { return ending_; }
  /// Whether atomics and WRITEs with immediate data can be posted.
  bool extensions() const { return context_.attributes.extensions; }
  /// The QP is to be in ERR: whatever is posted to its receive queue is flushed.
  bool in_error() const override { return phase_ == Phase::terminating || phase_ == Phase::ended; }
  /// Told to close, and all that was posted before has been written.
  bool drained() const override;
  const char* broken_invariant() const override;

 private:
  bool next_segment(TxSegment& out, std::size_t max_ulpdu) override;
  std::optional<Pieces> payload(const TxSegment& segment, std::size_t from, std::span<Bytes> out) override;
  void segment_sent(const TxSegment& segment) override;

  bool takes_input() const { return phase_ == Phase::running || phase_ == Phase::closing; }
  /// False: a responder waits for the peer's first word, with its own and with its end of the stream.
  bool may_speak() const { return !silent_ || inbound_.heard(); }
  bool would_speak() const { return phase_ == Phase::closing || requester_.outstanding() != 0; }
  void end_silence(TimePoint now);
  void take(Bytes bytes, TimePoint now);
  void end_patience(TimePoint now);
  void look(TimePoint now);
  void refuse(const Verdict& verdict, Bytes segment, std::size_t segment_bytes, TimePoint now);
  void blame(const Verdict& verdict);
  void fail_request(TimePoint now);
  void peer_terminated(const wire::Terminate& message);
  void peer_closed(TimePoint now);
  void begin_close(TimePoint now);
  void input_came(TimePoint now);
  void advanced(TimePoint now);
  void answered(TimePoint now);
  void moved(TimePoint now);
  void send_terminate(const wire::Terminate& message, TimePoint now);
  void make_terminate(TxSegment& out);
  void lose(const Reason& reason);
  void finish(Ending ending);
  bool nothing_to_send() const;

  Context context_;
  Requester requester_;
  RequestQueue requests_;
  Inbound inbound_;
  std::unique_ptr<MpaReceiver> receiver_;
  std::unique_ptr<MpaSender> sender_;
  Phase phase_ = Phase::idle;
  Ending ending_ = Ending::none;
  TimePoint deadline_ = kNever;
  TimePoint close_limit_ = kNever;   ///< that closing puts off no further
  TimePoint patience_end_ = kNever;  ///< while it waits()
  TimePoint speaks_at_ = kNever;     ///< while it is silent, and does not wait for ever
  TimePoint looks_at_ = kNever;      ///< whether the reply has arrived
  std::vector<std::byte> held_;      ///< what came meanwhile, and is not taken
  bool silent_ = false;              ///< until the peer has spoken
  bool spoke_ = false;               ///< before that
  bool ready_due_ = false;           ///< the message that tells that this side is ready
  bool answers_next_ = true;         ///< whose turn it is
  bool asked_ = false;               ///< a segment of a request has been sent
  bool terminate_due_ = false;       ///< not made into a segment
  bool terminate_sent_ = false;
  bool shut_down_ = false;       ///< this side of the stream has ended
  bool peer_shut_down_ = false;  ///< and that of the peer
  wire::Terminate terminate_;
  std::array<std::byte, wire::kMaxTerminateBytes> terminate_bytes_;
};

}  // namespace softrnic::iwarp
