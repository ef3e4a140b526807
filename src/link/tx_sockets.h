// The sockets a lane sends from: one for each UDP source port, made on demand.
//
// RoCEv2 spreads its flows over paths and receive queues by the UDP source port (IBTA A17.4.4), so packets
// cannot all leave from the lane's own socket on port 4791. These sockets are never read.
#pragma once

#include <cstdint>
#include <vector>

#include "link/socket_address.h"

namespace softrnic::link {

class TxSockets {
 public:
  struct Choice {
    int fd = -1;
    std::uint16_t port = 0;  ///< the source port its packets really have
  };

  /// `lane_fd` (bound to `lane_port`, not owned) stands in for ports that cannot be had.
  TxSockets(int lane_fd, std::uint16_t lane_port, Family family);
  ~TxSockets();
  TxSockets(const TxSockets&) = delete;
  TxSockets& operator=(const TxSockets&) = delete;

  /// The socket for `port`; 0 means the lane's own.
  Choice choose(std::uint16_t port) {
    if (port != latest_port_) {  // the packets of a message follow one another
      latest_ = find(port);
      latest_port_ = port;
    }
    return latest_;
  }

 private:
  static constexpr std::size_t kMaxSockets = 64;

  Choice find(std::uint16_t port);
  Choice open(std::uint16_t port) const;

  Choice lane_;
  Family family_;
  struct Entry {
    std::uint16_t wanted;
    Choice choice;
  };
  std::vector<Entry> entries_;
  std::uint16_t latest_port_ = 0;
  Choice latest_;
};

}  // namespace softrnic::link
