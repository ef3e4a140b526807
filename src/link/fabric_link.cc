#include "link/fabric_link.h"

#include <sys/socket.h>

namespace softrnic::link {

// Groups first: what is sent to one may come back to those who joined it before.
void FabricLink::flush(TimePoint now) {
  groups_.flush();
  if (!groups_.has_untold()) sender_.flush();
  if (is_full()) flush_again_ = now + kFlushAgain;
}

TimePoint FabricLink::deadline() const {
  if (sender_.has_report()) return TimePoint::min();
  return is_full() ? flush_again_ : kNever;
}

std::size_t FabricLink::receive(Receiver& receiver, TimePoint) {
  sender_.report(receiver);
  return receiver_.receive(receiver);
}

bool FabricLink::has_packet(TimePoint) const {
  return recv(fd(), nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT) > 0;
}

}  // namespace softrnic::link
