// What a lane does with the TCP streams of its queue pairs (iWARP).
#include <cerrno>

#include "engine/lane.h"

namespace softrnic::engine {

Expected<rnic::StreamPort*, Failure> Lane::add_stream(rnic::QueuePair& qp, UniqueFd& socket,
                                                      const rnic::StreamStart& start) {
  if (abandoned_) return Unexpected{refuse(EIO, ReasonId::forked_child)};
  auto added = streams_.add(qp, socket, start);
  // The engine thread may sleep without a look at the first one.
  if (added) timers_.bring_forward(monotonic_now());
  return added;
}

std::size_t Lane::receive_streams() {
  return streams_.receive(clock_.batch_time(), [this](rnic::QueuePair& qp) { touch(qp); });
}

}  // namespace softrnic::engine
