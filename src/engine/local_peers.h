// The lanes of this host as a sender sees them: how full their sockets are.
//
// UC and UD have no feedback on the wire, and a socket that is full loses what comes. But on one host the receiver's socket
// itself can be looked at, through a duplicate that the daemon hands out. It holds whatever the receiver does, even while
// it is off the processor, and counts what all senders together have put there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/unique_fd.h"
#include "rnic/device.h"
#include "transport/ib/path_window.h"

namespace softrnic::engine {

class SocketGauge final : public ib::Gauge {
 public:
  explicit SocketGauge(UniqueFd socket) : socket_(std::move(socket)) {}
  /// False: the kernel does not tell (SO_MEMINFO, Linux 4.12).
  bool works() const;
  std::uint32_t room(TimePoint now) override;

 private:
  UniqueFd socket_;
};

/// Not thread-safe: the lane's lock guards it.
class LocalPeers {
 public:
  void set_addresses(const std::vector<rnic::GidEntry>& addresses);
  /// Whether packets to this address come back to this host.
  bool has(const wire::Gid& address) const;

  /// Gives `window` the gauge of a lane, at once or when the lane has been met. The window outlives this object.
  void watch(std::uint8_t lane, ib::PathWindow& window);
  /// Whether there are lanes to be asked for.
  bool any_strangers() const { return !strangers_.empty(); }
  /// The lanes to be asked for; the caller sees to it that meet() follows for each.
  std::vector<std::uint8_t> take_strangers();
  /// Nothing could be found out of one of them.
  void ask_again(std::uint8_t lane) { strangers_.push_back(lane); }
  /// The socket of a lane that was asked for; empty: there is none to be had, and its windows do without.
  void meet(std::uint8_t lane, UniqueFd socket);

 private:
  struct Peer {
    std::unique_ptr<SocketGauge> gauge;
    std::vector<ib::PathWindow*> waiting;
    bool met = false;
  };

  std::vector<wire::Gid> addresses_;
  std::map<std::uint8_t, Peer> peers_;
  std::vector<std::uint8_t> strangers_;
};

}  // namespace softrnic::engine
