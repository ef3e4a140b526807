#include "link/fabric_link.h"

#include <sys/socket.h>

#include <cstring>

namespace softrnic::link {

void FabricLink::flush(TimePoint now) {
  sender_.flush();
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

bool FabricLink::join(const wire::Gid& group, std::uint32_t port) {
  return tell(FabricMessageType::join, group, port);
}

bool FabricLink::leave(const wire::Gid& group, std::uint32_t port) {
  return tell(FabricMessageType::leave, group, port);
}

bool FabricLink::tell(FabricMessageType type, const wire::Gid& group, std::uint32_t port) {
  std::byte message[sizeof(FabricHeader) + sizeof group.raw];
  const FabricHeader header{type, static_cast<std::uint8_t>(port), 0};
  std::memcpy(message, &header, sizeof header);
  std::memcpy(message + sizeof header, group.raw.data(), sizeof group.raw);
  return ::send(fd(), message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) == ssize_t{sizeof message};
}

}  // namespace softrnic::link
