#include "transport/ib/no_packets.h"

#include "base/reason_id.h"

namespace softrnic::ib {

void NoPackets::receive(const RxPacket& packet, TimePoint) {
  host_.count(Counter::drop_service);
  host_.explain(because(ReasonId::drop_wrong_service, packet.packet.info->opcode), nullptr);
}

}  // namespace softrnic::ib
