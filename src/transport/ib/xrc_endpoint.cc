#include "transport/ib/xrc_endpoint.h"

#include "base/reason_id.h"
#include "transport/ib/packet_builder.h"

namespace softrnic::ib {

void XrcEndpoint::receive(const RxPacket& packet, TimePoint now) {
  const wire::OpcodeInfo& info = *packet.packet.info;
  if (info.service == wire::Service::xrc && info.request != takes_requests_) {
    refuse(Counter::drop_service, because(ReasonId::drop_xrc_half, info.opcode, takes_requests_ ? 10 : 9));
    return;
  }
  RcEndpoint::receive(packet, now);
}

Transmit XrcEndpoint::transmit(TxPacket& packet, TimePoint now) {
  const Transmit result = RcEndpoint::transmit(packet, now);
  if (result == Transmit::packet) packet.headers.bth.opcode = to_xrc(packet.headers.bth.opcode);
  return result;
}

}  // namespace softrnic::ib
