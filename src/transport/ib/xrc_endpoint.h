// A queue pair of the extended reliable connection transport (IBTA A14): a half of a reliable connection.
//
// Requester and responder are those of RC. On the wire opcodes differ, and each request has an XRCETH, which
// names the SRQ of the peer that it is for: its receives are taken, completions go to its queue, and keys are
// those of its protection domain. An initiator takes no requests, a target sends none.
#pragma once

#include "transport/ib/rc_endpoint.h"

namespace softrnic::ib {

class XrcEndpoint final : public RcEndpoint {
 public:
  /// `type`: xrc_initiator or xrc_target.
  XrcEndpoint(QpType type, Qpn local, const Capacity& capacity, Host& host)
      : RcEndpoint(local, capacity, host, wire::Service::xrc), takes_requests_(type == QpType::xrc_target) {}

  void receive(const RxPacket& packet, TimePoint now) override;
  Transmit transmit(TxPacket& packet, TimePoint now) override;
  void forget_receive() override { responder().forget_receive(); }

  // What goes without packets, or without their headers, has no room for the number of an SRQ.
  bool go_at_once() override { return false; }
  bool next_eager(EagerSend&) override { return false; }
  bool receive_eager(const EagerSend&, const wire::Gid&) override { return false; }

 private:
  const bool takes_requests_;
};

}  // namespace softrnic::ib
