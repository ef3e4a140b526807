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
#include "daemon/clients.h"
#include "daemon/event_loop.h"
#include "daemon/gsi.h"
#include "daemon/lane_pool.h"
#include "daemon/service.h"
#include "link/capture_file.h"
#include "link/fault_plan.h"
#include "net/netlink.h"

namespace softrnic::daemon {

class Server {
 public:
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
  bool watch_all();
  bool watch_keeper();
  bool watch_mads();
  TimePoint next_deadline() const;
  /// What is due, and what the events of this turn have left to send.
  void catch_up();
  bool is_idle() const;
  void renew_steering(TimePoint now);
  /// False: no such lane.
  bool forget_inherited(std::uint32_t lane);
  void keeper_ended();
  void renew_keeper(TimePoint now);
  bool survivors_are_back() const;
  /// Reads what comes for QP1 from now on, if it is time.
  void begin_to_read_mads();
  void announce(const DeviceChange& change);
  void serve_management();
  void find_route(cma::IdNumber id, const cma::RouteQuery& query);
  void forget_route(cma::IdNumber id);
  void read_network();
  net::NetSnapshot look_at_network();

  UniqueFd listener_;  ///< first, so that it is closed last: the name is free only when the port is
  TimePoint keeper_due_ = kNever;    ///< when there is to be another
  TimePoint keeper_started_{};       ///< the last other
  TimePoint steering_due_ = kNever;  ///< while users share the lanes
  TimePoint reads_mads_ = kNever;    ///< at the latest; kNever: it does so already
  control::PageWriter page_;         ///< explanations may come from all below
  EventLoop loop_;
  UniqueFd signals_;
  net::Netlink netlink_;
  net::NetSnapshot last_snapshot_;
  LanePool lanes_;
  Service service_;
  Clients clients_;
  Options options_;
  Gsi gsi_;
  AddressResolver resolver_;
  std::map<cma::IdNumber, ResolveToken> routes_;  ///< being looked for
  bool ending_ = false;
};

}  // namespace softrnic::daemon
