// One client of the daemon: its sockets, what it holds, and the notifications it has not taken yet.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/unique_fd.h"
#include "control/messages.h"
#include "daemon/credentials.h"
#include "daemon/device_list.h"

namespace softrnic::daemon {

struct Connection {
  UniqueFd socket;
  UniqueFd notify;  ///< the daemon's end of the notification socket; none before hello
  UniqueFd pidfd;   ///< a forked child may keep the socket open after its process has died
  std::int32_t pid = 0;
  std::string comm;
  Credentials credentials;
  /// Where its local peers find what it shares; pid 0: nothing.
  struct Shared {
    std::int32_t pid = 0;
    DescriptorName memory, inbox;
  };
  Shared shared;
  bool greeted = false;
  std::set<std::uint32_t> lanes;
  bool returning = false;      ///< has reclaimed a lane, and is about to tell more
  bool holds_devices = false;  ///< has a device open
  std::uint64_t page = 0;      ///< number in the PageStore, 0: none

  /// Keeps the latest state of a device for a client that reads slowly.
  void queue(const DeviceChange& change);
  /// Sends what is queued, as far as the socket takes it. True when all is sent.
  bool flush();

 private:
  std::map<std::uint32_t, control::NotificationMessage> queued_;  ///< by device index
};

}  // namespace softrnic::daemon
