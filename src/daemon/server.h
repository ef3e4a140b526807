// The daemon's event loop: clients, changes of the network, stray packets, the clock of idleness.
#pragma once

#include <chrono>
#include <map>
#include <memory>

#include "base/unique_fd.h"
#include "daemon/lane_pool.h"
#include "daemon/netlink.h"
#include "daemon/service.h"

namespace softrnic::daemon {

class Server {
 public:
  static constexpr std::size_t kMostConnections = 1000;

  struct Options {
    std::chrono::seconds idle{30};  ///< how long to stay without a client; 0: for ever
  };

  /// `listener` is bound and listens.
  Server(UniqueFd listener, Netlink netlink, LanePool lanes, DeviceList devices, const Options& options);

  /// Serves until idle, told to end, or SIGINT or SIGTERM. 0 or a positive errno.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Source : std::uint8_t { listener, network, signals, lane, connection, process, notify };

  bool watch(int fd, Source source, std::uint32_t id, std::uint32_t events);
  void forget(int fd);
  int timeout() const;
  bool is_idle() const;
  void dispatch(std::uint64_t key, std::uint32_t events);
  void accept_client();
  void read_client(std::uint32_t id);
  void answer(std::uint32_t id, Answer reply);
  void drop(std::uint32_t id);
  void process_ended(std::uint32_t id);
  void announce(const DeviceChange& change);
  void flush(std::uint32_t id, Connection& client);
  void read_network();
  NetSnapshot look_at_network();

  UniqueFd listener_;  ///< first, so that it is closed last: the name is free only when the port is
  UniqueFd epoll_;
  UniqueFd signals_;
  Netlink netlink_;
  NetSnapshot last_snapshot_;
  LanePool lanes_;
  Service service_;
  Options options_;
  std::map<std::uint32_t, std::unique_ptr<Connection>> clients_;
  std::uint32_t next_id_ = 1;
  Clock::time_point idle_since_;
  bool ending_ = false;
};

}  // namespace softrnic::daemon
