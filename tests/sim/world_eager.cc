// Short messages as eager sends (transport/ib/eager_send.h): they travel as the packets they stand for, and
// the answer is a word in the requester's memory, which it looks at some time later.
#include "tests/sim/world.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::sim {

namespace {
constexpr std::uint64_t kLate = 4'000'000;  ///< ns that the time given with an eager send may be off
constexpr std::uint64_t kLook = 100'000;    ///< ns until the requester looks at what it was told

ib::EagerSend eager_of(const ib::RxPacket& rx) {
  const wire::Headers& headers = rx.packet.headers;
  return {.destination = headers.bth.destination,
          .psn = headers.bth.psn,
          .immediate = headers.immediate,
          .pkey = headers.bth.pkey,
          .has_immediate = rx.packet.info->has(wire::kImmDt),
          .solicited = headers.bth.solicited,
          .payload = rx.packet.payload};
}
}  // namespace

bool World::send_eager(Node& node) {
  ib::EagerSend eager;
  if (!memory_paths_ || node.pair->alternate || !rng_.chance(config_.memory.eagers) ||
      !node.endpoint->next_eager(eager))
    return false;
  node.endpoint->eager_sent(ground_.now + Duration(rng_.below(kLate)));
  out_ = {};
  out_.path = &node.address;
  ib::put_headers(eager, out_.headers);
  out_.payload_bytes = static_cast<std::uint32_t>(eager.payload.size());
  if (!eager.payload.empty())
    out_.fragments[out_.fragment_count++] = {eager.payload.data(), eager.payload.size(), MemoryKey()};
  send(node, out_, true);
  node.check_state();
  return true;
}

bool World::receive_eager(Node& node, const ib::RxPacket& packet, std::uint32_t connection) {
  const std::uint32_t before = node.endpoint->receive_psn();
  if (!node.endpoint->receive_eager(eager_of(packet), packet.source)) return false;
  const std::uint32_t expected = node.endpoint->receive_psn();
  if (expected != ((before + 1) & wire::kPsnMask))
    ground_.fail(
        format("node %u executes an eager send and expects PSN %u after %u", node.index, expected, before));
  if (node.observed()) {
    ib::RxPacket shown = packet;
    shown.packet.headers.bth.ack_request = false;
    node.observer.arriving(shown, before);
    node.observer.arrived(shown, before, expected);
  }
  node.peer->told_connection = connection;
  node.peer->told_psn = expected;
  node.peer->told_credit = node.endpoint->tell_credit();
  schedule(ground_.now + Duration(rng_.below(kLook)), Kind::told, node.peer->index);
  return true;
}

void World::told(Node& node) {
  if (node.dead || !node.started || node.told_connection != node.connection) return;
  if (node.observed()) {
    ib::RxPacket shown;
    shown.packet.headers.bth.opcode = wire::Opcode::rc_acknowledge;
    shown.packet.headers.bth.psn = (node.told_psn - 1) & wire::kPsnMask;
    shown.packet.headers.aeth.syndrome = node.told_credit;
    shown.packet.info = &wire::opcode_info(wire::Opcode::rc_acknowledge);
    node.observer.arriving(shown, node.endpoint->receive_psn());
  }
  ground_.log(What::action, node.index, 500, node.told_psn);
  node.endpoint->acknowledged(node.told_psn, node.told_credit, ground_.now + Duration(rng_.below(kLate)));
  touched(node);
}

}  // namespace softrnic::sim
