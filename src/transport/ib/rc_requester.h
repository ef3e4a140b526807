// The requester half of a reliable connection: turns work requests into request packets, takes in the answers
// and recovers what got lost (IBTA 9.7.3, 9.7.5.2, 9.7.6).
//
// It coordinates what knows one thing each: SendSequence, how far the packets of the send queue are;
// rc_request.h, what a packet says; WindowCharge, what is in flight of the window; AckRequests, which packets
// request an ACK; DirectTurns, what goes without packets; SendCredit, for how many messages the peer has a
// receive; LossRecovery, what silence and NAKs mean.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/ib/ack_requests.h"
#include "transport/ib/credit.h"
#include "transport/ib/direct_turns.h"
#include "transport/ib/endpoint.h"
#include "transport/ib/endpoint_context.h"
#include "transport/ib/rc_loss_recovery.h"
#include "transport/ib/rc_request.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/send_sequence.h"
#include "transport/ib/window_charge.h"

namespace softrnic::ib {

class RcRequester {
 public:
  RcRequester(const EndpointContext& context, const Capacity& capacity)
      : context_(context), sequence_(capacity), charge_(context.window) {}
  RcRequester(const RcRequester&) = delete;
  RcRequester& operator=(const RcRequester&) = delete;

  void start();
  void drain();
  void resume();
  /// Completes everything posted as flushed.
  void flush();
  void reset();

  SendQueue& queue() { return sequence_.queue(); }
  const SendQueue& queue() const { return sequence_.queue(); }
  SendSlot reserve() { return sequence_.reserve(); }
  bool go_at_once();

  void receive(const RxPacket& rx, TimePoint now);
  Transmit transmit(TxPacket& out, TimePoint now);
  TimePoint deadline() const;
  /// True: the retries are used up, and there is an alternate path to try instead of failing.
  bool expire(TimePoint now);
  /// See EndpointBase.
  void leave_path();
  void enter_path();

  bool next_eager(EagerSend& out);
  std::uint32_t eager_sent(TimePoint now);  ///< how many bytes it has
  void acknowledged(std::uint32_t psn, std::uint8_t credit, TimePoint now);
  bool has_unsent() const { return sequence_.has_unsent(); }
  bool awaits_answers() const { return sequence_.awaits_answers(); }

  /// A work request failed, was completed, and so the connection ends.
  bool failed() const { return run_ == Run::failed; }
  bool drained() const { return run_ == Run::drained; }
  std::uint32_t send_psn() const { return sequence_.top().wire(); }

  /// For tests: what of its promises to itself does not hold between two calls; nullptr: all does.
  const char* broken_invariant() const;

 private:
  /// What has been commanded, or has happened, to the send queue as a whole.
  enum class Run : std::uint8_t {
    running,
    draining,  ///< starts no new work request (SQD)
    drained,   ///< and those that had begun are done
    failed,    ///< until reset()
  };

  // ---- sending: rc_requester_send.cc
  enum class SendCheck : std::uint8_t { may_send, wait, no_credit, window_full };
  bool has_room_for(const SendEntry& entry) const;
  SendCheck check_send(const SendEntry& entry) const;
  void begin(SendEntry& entry, const RequestExtent& extent);
  void wait_for_credit(TimePoint now);
  Transmit send_next(SendEntry& entry, TxPacket& out, TimePoint now);
  bool send_probe(TxPacket& out);
  std::uint32_t mark_in_flight(const SendEntry& entry, Psn from, Psn stop, TimePoint now);
  void sent(const SendEntry& entry, Psn from, Psn stop, TxPacket& out, TimePoint now);
  /// `awaited`: what is done next depends on the ACK.
  bool requests_ack(const SendEntry& entry, Psn stop, std::uint32_t cost, bool awaited);
  void cannot_send(Status status, const Reason& reason);
  bool valid(const SendWqe& wqe);
  bool execute_locally();

  // ---- without packets: rc_requester_direct.cc
  bool waits_for_direct(const SendEntry& entry) const;
  std::optional<std::uint32_t> go_direct(const SendEntry& entry);

  // ---- eager sends: rc_endpoint_eager.cc
  bool fast_path_ok() const;

  // ---- answers: rc_requester_responses.cc
  void receive_acknowledge(const RxPacket& rx, Psn psn, TimePoint now);
  void receive_nak(std::uint8_t syndrome, Psn psn, TimePoint now);
  void receive_rnr_nak(std::uint8_t syndrome, Psn psn, TimePoint now);
  void receive_response(const RxPacket& rx, Psn psn, TimePoint now);
  bool acknowledge_before(Psn end, TimePoint now, bool may_answer_probe = true);
  void answered(SendEntry& entry, Psn end);
  void progress(bool may_answer_probe, TimePoint now);

  // ---- recovery: rc_requester_recovery.cc
  void implied_nak(TimePoint now);
  void go_back(LossRecovery::Cause cause, TimePoint now);
  void uncharge();
  bool timed_out(TimePoint now);
  void fail_front(Status status, const Reason& reason);

  // ---- the whole: rc_requester.cc
  bool stopping() const { return run_ != Run::running; }
  void check_drained();
  const char* broken_charge() const;

  std::uint32_t mtu() const { return context_.attributes.path_mtu; }

  const EndpointContext& context_;
  SendSequence sequence_;
  WindowCharge charge_;  ///< for what is in flight, or less after a back-off
  AckRequests ack_requests_;
  DirectTurns direct_;           ///< while one is under_way(), the front work request has no PSNs
  std::uint16_t reads_out_ = 0;  ///< READ requests and atomics in flight
  SendCredit credit_;
  LossRecovery recovery_;
  Run run_ = Run::running;
};

}  // namespace softrnic::ib
