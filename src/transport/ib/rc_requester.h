// The requester half of a reliable connection: turns work requests into request packets, takes in the answers
// and recovers what got lost (IBTA 9.7.3, 9.7.5.2, 9.7.6).
//
//      una_            next_            top_
//   ────┼────────────────┼────────────────┼──────▶ PSN
//    answered │ in flight │ to be re-sent │ new
//
// una_   oldest PSN not yet acknowledged, or READ response expected next; always in the front work request
// next_  PSN to be sent next; a go-back sets it to una_
// top_   one past the highest PSN ever sent
//
// [una_, next_) is what is charged to the window and what the timer runs for.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/ib/ack_requests.h"
#include "transport/ib/direct_turns.h"
#include "transport/ib/endpoint_context.h"
#include "transport/ib/rc_loss_recovery.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/send_queue.h"
#include "transport/ib/sge_list.h"
#include "transport/ib/window_charge.h"

namespace softrnic::ib {

class RcRequester {
 public:
  RcRequester(const EndpointContext& context, const Capacity& capacity)
      : context_(context), queue_(capacity), charge_(context.window) {}
  RcRequester(const RcRequester&) = delete;
  RcRequester& operator=(const RcRequester&) = delete;

  void start();
  void drain();
  void resume();
  /// Completes everything posted as flushed.
  void flush();
  void reset();

  SendQueue& queue() { return queue_; }
  const SendQueue& queue() const { return queue_; }
  SendSlot reserve();
  bool go_at_once();

  void receive(const RxPacket& rx, TimePoint now);
  Transmit transmit(TxPacket& out, TimePoint now);
  TimePoint deadline() const;
  void expire(TimePoint now);

  bool next_eager(EagerSend& out);
  std::uint32_t eager_sent(TimePoint now);  ///< how many bytes it has
  void acknowledged(std::uint32_t psn, TimePoint now);
  bool has_unsent() const { return cursor_ != queue_.tail(); }
  bool awaits_answers() const { return una_ < top_; }

  /// A work request failed, was completed, and so the connection ends.
  bool failed() const { return run_ == Run::failed; }
  bool drained() const { return run_ == Run::drained; }
  std::uint32_t send_psn() const { return top_.wire(); }

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
  enum class SendCheck : std::uint8_t { may_send, wait, window_full };
  bool has_room_for(const SendEntry& entry) const;
  SendCheck check_send(const SendEntry& entry) const;
  void begin(SendEntry& entry);
  Transmit send_next(SendEntry& entry, TxPacket& out, TimePoint now);
  bool send_probe(TxPacket& out);
  Expected<void, Reason> build(const SendEntry& entry, Psn psn, Psn stop, SgeCursor& cursor, TxPacket& out);
  Expected<void, Reason> build_message(const SendEntry& entry, Psn psn, Psn stop, SgeCursor& cursor,
                                       TxPacket& out);
  std::uint32_t mark_in_flight(const SendEntry& entry, Psn from, Psn stop, TimePoint now);
  void sent(const SendEntry& entry, Psn from, Psn stop, TxPacket& out, TimePoint now);
  /// `awaited`: what is done next depends on the ACK.
  bool requests_ack(const SendEntry& entry, Psn stop, std::uint32_t cost, bool awaited);
  void cannot_send(Status status, const Reason& reason);
  bool valid(const SendWqe& wqe);
  bool execute_locally();

  // ---- without packets: rc_requester_direct.cc
  bool nothing_in_flight() const;
  bool waits_for_direct(const SendEntry& entry) const;
  std::optional<std::uint32_t> go_direct(const SendEntry& entry);

  // ---- eager sends: rc_endpoint_eager.cc
  bool fast_path_ok() const;
  bool find_payload(const SendEntry& entry, Bytes& out);

  // ---- answers: rc_requester_responses.cc
  void receive_acknowledge(const RxPacket& rx, Psn psn, TimePoint now);
  void receive_nak(std::uint8_t syndrome, Psn psn, TimePoint now);
  void receive_rnr_nak(std::uint8_t syndrome, Psn psn, TimePoint now);
  void receive_response(const RxPacket& rx, Psn psn, TimePoint now);
  bool acknowledge_before(Psn end, TimePoint now, bool may_answer_probe = true);
  void answered(SendEntry& entry, Psn end);
  void finish_front();
  void progress(bool may_answer_probe, TimePoint now);
  bool fits(const SendEntry& entry, const RxPacket& rx, Psn psn) const;
  void bad_response(const RxPacket& rx);

  // ---- recovery: rc_requester_recovery.cc
  void implied_nak(TimePoint now);
  void go_back(LossRecovery::Cause cause, TimePoint now);
  void uncharge();
  void timed_out(TimePoint now);
  void fail_front(Status status, const Reason& reason);

  // ---- the whole: rc_requester.cc
  bool stopping() const { return run_ != Run::running; }
  void check_drained();
  const char* broken_queue() const;
  const char* broken_charge() const;

  bool is_read_or_atomic(const SendEntry& entry) const;
  std::uint32_t offset_of(const SendEntry& entry, Psn psn) const;
  std::uint32_t cost_of(const SendEntry& entry, Psn from, Psn stop) const;
  Psn chunk_end(const SendEntry& entry, Psn psn) const;
  Psn packet_end(const SendEntry& entry, Psn psn) const;

  const EndpointContext& context_;
  SendQueue queue_;
  SendQueue::Index cursor_ = 0;  ///< work request that contains next_
  SendQueue::Index begun_ = 0;   ///< first work request without PSNs
  Psn una_, next_, top_;
  Psn assigned_;  ///< first PSN of the next work request that begins
  SgeCursor gather_cursor_;
  SgeCursor scatter_cursor_;
  WindowCharge charge_;  ///< for [una_, next_), or less after a back-off
  AckRequests ack_requests_;
  DirectTurns direct_;           ///< while one is under_way(), the front work request has no PSNs
  std::uint16_t reads_out_ = 0;  ///< READ requests and atomics in [una_, next_)
  LossRecovery recovery_;
  Run run_ = Run::running;
};

}  // namespace softrnic::ib
