#include "transport/ib/endpoint.h"

#include "transport/ib/raw_packet_endpoint.h"
#include "transport/ib/rc_endpoint.h"
#include "transport/ib/uc_endpoint.h"
#include "transport/ib/ud_endpoint.h"
#include "transport/ib/xrc_endpoint.h"

namespace softrnic::ib {

std::unique_ptr<Endpoint> make_endpoint(QpType type, Qpn local, const Capacity& capacity, Host& host) {
  switch (type) {
    case QpType::rc:
      return std::make_unique<RcEndpoint>(local, capacity, host);
    case QpType::uc:
      return std::make_unique<UcEndpoint>(local, capacity, host);
    case QpType::ud:
      return std::make_unique<UdEndpoint>(local, capacity, host);
    case QpType::raw_packet:
      return std::make_unique<RawPacketEndpoint>(local, capacity, host);
    case QpType::xrc_initiator:
    case QpType::xrc_target:
      return std::make_unique<XrcEndpoint>(type, local, capacity, host);
  }
  return nullptr;
}

}  // namespace softrnic::ib
