// What a lane does with the TCP streams of its queue pairs (iWARP).
#include <cerrno>

#include "base/attempt.h"
#include "base/reason_id.h"
#include "engine/lane.h"

namespace softrnic::engine {
namespace {

/// Of reading what lies in the rings: more than they hold, as a rule.
constexpr int kMostRounds = 64;

}  // namespace

Expected<rnic::StreamPort*, Failure> Lane::add_stream(rnic::QueuePair& qp, UniqueFd& socket,
                                                      const rnic::StreamStart& start) {
  if (abandoned_) return Unexpected{refuse(EIO, ReasonId::forked_child)};
  auto added = streams_.add(qp, socket, start);
  await_packets();
  // The engine thread may sleep without a look at the first one.
  if (added) timers_.bring_forward(monotonic_now());
  return added;
}

void Lane::remove_stream(rnic::StreamPort& stream) {
  streams_.remove(stream);
  await_packets();
}

std::size_t Lane::receive_streams() {
  return streams_.receive(
      clock_.batch_time(),
      [this] {
        read_rings();
        take_acks();
      },
      [this](rnic::QueuePair& qp) { touch(qp); });
}

// A local connection ends by its stream, and what its peer had sent lies in a ring.
void Lane::read_rings() {
  for (int round = 0; round < kMostRounds && rings_ != nullptr && rings_->inbound().have_packet(); ++round)
    unread_ = !attempt([&] { link_->receive(*this, clock_.batch_time()); }) || unread_;
}

}  // namespace softrnic::engine
