#include "daemon/connection.h"

#include <cerrno>

#include "control/channel.h"

namespace softrnic::daemon {

void Connection::queue(const DeviceChange& change) {
  auto message = control::make_message<control::NotificationMessage>();
  message.change = change.change;
  message.device = control::to_record(change.device);
  const auto [it, is_new] = queued_.try_emplace(change.device.index, message);
  if (is_new) return;
  // the client has not heard of the device yet: it still has to hear that it was added
  const bool unheard = it->second.change == control::Change::device_added;
  if (unheard && change.change == control::Change::device_removed) {
    queued_.erase(it);
    return;
  }
  if (unheard) message.change = control::Change::device_added;
  it->second = message;
}

bool Connection::flush() {
  while (!queued_.empty()) {
    const int error =
        control::send_datagram(notify.get(), control::bytes_of(queued_.begin()->second), -1, MSG_DONTWAIT);
    if (error == EAGAIN) return false;
    queued_.erase(queued_.begin());  // another error is that of a peer who has gone
  }
  return true;
}

}  // namespace softrnic::daemon
