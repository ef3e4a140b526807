// The daemon's event loop: clients, changes of the network, management datagrams,
// deadlines, the clock of idleness.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "base/time.h"
#include "base/unique_fd.h"
#include "control/page_writer.h"
#include "daemon/address_resolver.h"
#include "daemon/gsi.h"
#include "daemon/lane_pool.h"
#include "daemon/service.h"
#include "link/capture_file.h"
#include "link/fault_plan.h"
#include "net/netlink.h"

namespace softrnic::daemon {

class Server {
 public:
  static constexpr std::size_t kMostConnections = 1000;

  struct Options {
    std::chrono::seconds idle{30};                 ///< how long to stay without a client; 0: for ever
    bool prints = false;                           ///< explanations on stderr, too
    link::FaultPlan faults{};                      ///< for the datagrams that the daemon sends
    std::unique_ptr<link::CaptureFile> capture{};  ///< of the daemon's packets; none: nobody looks
    std::optional<UserLimits> limits{};            ///< of each user; none: it serves its own user alone
  };

  /// `listener` is bound and listens.
  Server(UniqueFd listener, net::Netlink netlink, LanePool lanes, DeviceList devices, Options options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves until idle, told to end, or SIGINT or SIGTERM. 0 or a positive errno.
  int run();

 private:
  enum class Source : std::uint8_t {
    listener,
    network,
    signals,
    lane,
    neighbours,
    keeper,
    connection,
    process,
    notify,
    streams,
    mad_sockets,
  };

  bool watch(int fd, Source source, std::uint32_t id, std::uint32_t events);
  void forget(int fd);
  bool watch_all();
  int timeout() const;
  TimePoint next_deadline() const;
  /// What is due, and what the events of this turn have left to send.
  void catch_up();
  bool is_idle() const;
  void dispatch(std::uint64_t key, std::uint32_t events);
  void accept_client();
  void accept_failed(int error);
  /// Tells a client that there is no room for it.
  void turn_away(const UniqueFd& socket, const Failure& failure);
  Failure no_room() const;
  /// Whether there is room for one more connection, of this user.
  Expected<void, Failure> check_room(uid_t user) const;
  void renew_steering(TimePoint now);
  void listen_again();
  void read_client(std::uint32_t id);
  void answer(std::uint32_t id, Answer reply);
  void drop(std::uint32_t id);
  void process_ended(std::uint32_t id);
  /// False: no such lane.
  bool forget_inherited(std::uint32_t lane);
  void take_leave();
  void keeper_ended();
  void renew_keeper(TimePoint now);
  bool survivors_are_back() const;
  /// Reads what comes for QP1 from now on, if it is time.
  void begin_to_read_mads();
  void announce(const DeviceChange& change);
  void serve_management();
  void find_route(cma::IdNumber id, const cma::RouteQuery& query);
  void forget_route(cma::IdNumber id);
  void flush(std::uint32_t id, Connection& client);
  void read_network();
  net::NetSnapshot look_at_network();

  UniqueFd listener_;  ///< first, so that it is closed last: the name is free only when the port is
  UniqueFd spare_;     ///< makes room for the last word to a client that cannot be served
  TimePoint listens_again_ = kNever;
  TimePoint keeper_due_ = kNever;    ///< when there is to be another
  TimePoint keeper_started_{};       ///< the last other
  TimePoint steering_due_ = kNever;  ///< while users share the lanes
  TimePoint reads_mads_ = kNever;    ///< at the latest; kNever: it does so already
  control::PageWriter page_;         ///< explanations may come from all below
  UniqueFd epoll_;
  UniqueFd signals_;
  net::Netlink netlink_;
  net::NetSnapshot last_snapshot_;
  LanePool lanes_;
  Service service_;
  Options options_;
  Gsi gsi_;
  AddressResolver resolver_;
  std::map<cma::IdNumber, ResolveToken> routes_;  ///< being looked for
  std::map<std::uint32_t, std::unique_ptr<Connection>> clients_;
  std::uint32_t next_id_ = 1;
  TimePoint idle_since_;
  bool ending_ = false;
};

}  // namespace softrnic::daemon
