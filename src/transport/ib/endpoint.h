// One queue pair's transport: a state machine without I/O.
//
//   post()     work requests go in             ┐
//   receive()  packets go in                   │  each may change what transmit() and deadline() say,
//   expire()   time goes in                    │  and reports completions to the Host
//   start_…(), drain(), flush()  states        ┘
//   transmit() packets come out, one a call, until idle or blocked
//   deadline() when expire() wants to be called
//
// Not thread-safe: the caller holds the lock of the lane. No call allocates memory except make_endpoint() and
// start_responder() (the ring of read and atomic results).
#pragma once

#include <memory>

#include "transport/endpoint.h"
#include "transport/ib/eager_send.h"
#include "transport/ib/host.h"
#include "transport/ib/path_window.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/send_slot.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

struct InboundFrame;

/// Answer of transmit().
enum class Transmit : std::uint8_t {
  packet,   ///< `out` holds a packet; call again
  direct,   ///< out.payload_bytes bytes went by Host::direct(); there is no packet; call again
  idle,     ///< nothing to send until something happens
  blocked,  ///< wants to send, but the PathWindow is full or undecided; ask again when it has room
};

class Endpoint : public transport::Endpoint {
 public:
  // ---- commands: the states of IBTA 10.3.1 as far as the transport sees them

  /// To RTR: packets are accepted from here on. `attributes` may be changed again by update().
  virtual void start_responder(const Attributes& attributes) = 0;
  /// To RTS: work requests posted are sent from here on.
  virtual void start_requester(const Attributes& attributes) = 0;
  /// Attributes that may change while running (access, min_rnr_timer, qkey, path, …).
  virtual void update(const Attributes& attributes) = 0;
  /// From its path to the alternate one, which is loaded (ibv_modify_qp; IBTA 17.2.8).
  virtual void migrate() {}
  /// To SQD: finishes the work requests that have begun, starts no new one, then raises send_queue_drained.
  virtual void drain() = 0;
  /// SQD or SQE back to RTS.
  virtual void resume() = 0;
  // flush(): ACKs and read responses that are owed still go out.

  // ---- posts

  /// Carries out the work request that was just committed, if it can go without packets (Host::direct) and
  /// nothing is before it: then transmit() has nothing to do for it. False: ask transmit().
  virtual bool go_at_once() { return false; }

  /// XRC target: the receive that was taken last belongs to an SRQ that is destroyed. It is not completed,
  /// and what comes of its message is refused.
  virtual void forget_receive() {}
  /// Receives were posted while Host::receives_wanted(): transmit() may have an ACK that tells of them.
  virtual void receives_posted() {}

  // ---- packets and time

  /// UC and UD: whether receive() would drop this packet for want of a posted receive and nothing
  /// else. Their peers are not told, so a caller that can lets the packet wait for a while: to the
  /// peer that is a slow network.
  virtual bool lacks_receive(const RxPacket& packet) {
    static_cast<void>(packet);
    return false;
  }
  virtual void receive(const RxPacket& packet, TimePoint now) = 0;
  /// Raw packets: an Ethernet frame that a flow rule sends here.
  virtual void receive_frame(const InboundFrame& frame) { static_cast<void>(frame); }
  virtual Transmit transmit(TxPacket& out, TimePoint now) = 0;

  /// RC: an ACK that is owed waits for the next request of this side and leaves behind it, until
  /// send_delayed_ack(). A NAK does not wait, nor does anything behind a READ response.
  virtual void delay_ack() {}
  /// An ACK that was held leaves with the next transmit(), behind a request if there is one.
  virtual void send_delayed_ack() {}

  // ---- short messages on one host, see eager_send.h; `now` may be some milliseconds late

  /// What transmit() would give, if that can go as an eager send. Nothing changes. False: ask transmit().
  virtual bool next_eager(EagerSend& out) {
    static_cast<void>(out);
    return false;
  }
  /// What next_eager() gave is on its way: called after the peer can see it, which has not
  /// to wait for the accounts.
  virtual void eager_sent(TimePoint now) { static_cast<void>(now); }
  /// Executes an eager send that comes from `source`. False: nothing has changed, hand in its packet.
  virtual bool receive_eager(const EagerSend& eager, const wire::Gid& source) {
    static_cast<void>(eager);
    static_cast<void>(source);
    return false;
  }
  /// The syndrome of the ACK that is told by other means; then the peer is told.
  virtual std::uint8_t tell_credit() { return wire::kAckUnlimitedCredits; }
  /// The peer has executed all requests before `psn` (24 bits), and sends no ACK for them. `credit`: see
  /// credits_of().
  virtual void acknowledged(std::uint32_t psn, std::uint8_t credit, TimePoint now) {
    static_cast<void>(psn);
    static_cast<void>(credit);
    static_cast<void>(now);
  }
  /// Whether work requests are posted that have not been sent to their end.
  virtual bool has_unsent() const { return false; }
  /// Whether answers to requests are to come.
  virtual bool awaits_answers() const { return false; }

  // ---- what other layers may see

  virtual std::uint32_t send_psn() const = 0;     ///< PSN of the next new packet, 24 bits
  virtual std::uint32_t receive_psn() const = 0;  ///< PSN expected next, 24 bits
  // in_error(): RC and UC are in ERR then, UD in SQE
  /// Its window's promises are looked at as well.
  const char* broken_invariant() const override {
    return window_ == nullptr ? nullptr : window_->broken_invariant();
  }

  /// The window of the path to the peer; set before start_requester(). Shared with other endpoints. UD
  /// endpoints are given one for all destinations.
  void set_window(PathWindow* window) { window_ = window; }
  PathWindow* window() const { return window_; }

 protected:
  Endpoint() = default;
  PathWindow* window_ = nullptr;
};

std::unique_ptr<Endpoint> make_endpoint(QpType type, Qpn local, const Capacity& capacity, Host& host);

}  // namespace softrnic::ib
