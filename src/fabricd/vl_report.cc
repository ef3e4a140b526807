#include "fabricd/vl_report.h"

#include <chrono>

namespace softrnic::fabricd {
namespace {

std::size_t packets_in(const fabric::InputBuffer& buffer) {
  std::size_t count = 0;
  for (const fabric::Packet* packet = buffer.head; packet != nullptr; packet = packet->next) ++count;
  return count;
}

/// `queued`: packets that have come in and wait in the node; `waiting`: heads of buffers that want to leave.
Json vl_json(const fabric::EnginePort& port, std::uint8_t vl, TimePoint now) {
  const fabric::InputBuffer& buffer = port.in[vl];
  const fabric::OutputVl& lane = port.out[vl];
  std::size_t waiting = 0;
  for (const fabric::Bid* bid = lane.bids.front(); bid != nullptr; bid = bid->next) ++waiting;
  Json row = {{"vl", vl},
              {"queued", packets_in(buffer)},
              {"queued_blocks", buffer.used},
              {"buffer_blocks", buffer.size},
              {"waiting", waiting},
              {"credits", lane.credit.available()},
              {"xmit_packets", port.counters.xmit_packets_by_vl[vl]}};
  if (const fabric::Bid* const first = lane.bids.front()) {
    const std::chrono::duration<double> waited = now - first->from->head->arrived;
    row["waited_seconds"] = waited.count();
    row["has_credits"] = lane.credit.can_send(first->from->head->blocks);
  }
  return row;
}

}  // namespace

Json vls_json(const fabric::EnginePort& port, TimePoint now) {
  Json rows = Json::array();
  for (std::uint8_t vl = 0; vl < port.attributes.operational_vls; ++vl)
    rows.push_back(vl_json(port, vl, now));
  return rows;
}

}  // namespace softrnic::fabricd
