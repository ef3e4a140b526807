// The responder half of a reliable connection: executes requests and answers them (IBTA 9.7.4, 9.7.5).
//
// Answers leave in PSN order: READ and atomic responses first come first, then a NAK or the newest ACK. One
// ACK stands for any number of requests received since the last.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/ib/credit.h"
#include "transport/ib/eager_send.h"
#include "transport/ib/endpoint.h"
#include "transport/ib/endpoint_context.h"
#include "transport/ib/inbound_message.h"
#include "transport/ib/nak_state.h"
#include "transport/ib/read_atomic_resources.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib {

class RcResponder {
 public:
  explicit RcResponder(const EndpointContext& context) : context_(context) {}

  /// Allocates the read and atomic resources.
  void start();
  void receive(const RxPacket& rx, TimePoint now);
  TimePoint deadline() const { return nak_.deadline(); }
  void expire(TimePoint now);
  /// See Endpoint::receive_eager().
  bool receive_eager(const EagerSend& eager);
  /// Whether READ or atomic responses are due.
  bool streaming() { return resources_.pending() != nullptr; }
  /// Whether what is owed is an ACK and nothing else, and the peer does not wait for it.
  bool owes_ack_alone() { return ack_owed_ && !nak_.owed() && !streaming() && !credit_is_awaited(); }
  /// See Endpoint.
  void receives_posted() { ack_owed_ = ack_owed_ || credit_.exhausted(); }
  std::uint8_t tell_credit();
  /// The next answer owed; idle: none is. READ and atomic responses, and what is behind them, are blocked as
  /// long as the path is undecided.
  Transmit transmit(TxPacket& out);

  /// A fault that ends the connection was found; its NAK is queued.
  bool failed() const { return failed_; }
  /// The event that goes with the failure, if one does. To be raised once the QP is in the error state.
  std::optional<QpEvent> failure_event() const { return event_; }
  /// Completes the receive in use as flushed. Answers owed stay owed.
  void flush();
  void reset();
  /// See Endpoint::forget_receive().
  void forget_receive() { message_.forget(); }

  /// Why this state cannot be; nullptr: it can.
  const char* broken_invariant() const;

  std::uint32_t expected_psn() const { return expected_.wire(); }
  std::size_t heap_bytes() const { return resources_.heap_bytes(); }

 private:
  void receive_expected(const RxPacket& rx, TimePoint now);
  void receive_ahead(Psn psn, std::uint32_t packets);
  void ask();
  void ask_later(const Reason& reason, TimePoint now);
  void receive_duplicate(const wire::Packet& packet, Psn psn);
  void replay_read(const wire::Reth& reth, Psn psn);
  void replay(Answer kind, Psn psn);
  Verdict execute(const RxPacket& rx, TimePoint now);
  Verdict select_srq(const wire::Packet& packet);
  Verdict execute_read(const wire::Packet& packet);
  Verdict execute_atomic(const wire::Packet& packet, TimePoint now);
  Verdict execute_atomic_write(const RxPacket& rx, TimePoint now);
  Verdict execute_flush(const wire::Packet& packet);
  /// The word that an atomic or ATOMIC WRITE changes.
  struct RemoteWord {
    MemoryKey key;
    std::uint64_t address;
    std::uint32_t access;  ///< that it takes
  };
  Verdict change_word(const wire::Packet& packet, const RemoteWord& word, const AtomicOperation& operation,
                      TimePoint now);
  void executed(const wire::Packet& packet, Answer kind, std::uint64_t original = 0);
  ReadAtomic* take_resource(std::uint32_t packets);
  void accepted(const wire::Packet& packet, std::uint32_t packets);
  void receive_used();
  std::optional<std::uint32_t> receives_at_hand() const;
  /// Whether the next ACK tells a peer that knows of no receive of one. Where there is none, it has no news.
  bool credit_is_awaited() const { return credit_.exhausted() && receives_at_hand().value_or(1) > 0; }
  void refuse(const Verdict& verdict, const wire::Packet& packet);
  bool transmit_ack(TxPacket& out);
  void acknowledge(TxPacket& out, std::uint8_t syndrome, Psn psn);
  /// False: there is nothing to send.
  bool send_read_response(ReadAtomic& read, TxPacket& out);
  void send_atomic_response(ReadAtomic& atomic, TxPacket& out);
  Expected<HostMemory, Reason> read_memory(const ReadAtomic& read, std::uint64_t offset, std::uint32_t size);
  bool read_failed(ReadAtomic& read, const Reason& reason, TxPacket& out);

  const EndpointContext& context_;
  InboundMessage message_;
  ReadAtomicResources resources_;
  Psn expected_;  ///< PSN of the next new request
  Psn ack_psn_;   ///< newest SEND or WRITE packet executed
  NakState nak_;
  ReceiveCredit credit_;
  std::uint32_t msn_ = 0;   ///< messages completed, 24 bits
  std::uint32_t srqn_ = 0;  ///< XRC: of the request executed last
  bool ack_owed_ = false;
  bool any_accepted_ = false;
  bool failed_ = false;
  bool explained_behind_ = false;  ///< that the first packet's PSN lies before rq_psn
  std::optional<QpEvent> event_;
};

}  // namespace softrnic::ib
