// What the daemon does for its clients: one message in, one answer out. The sockets are the caller's (see
// server.h), so that a fuzzer can hand in any bytes.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "daemon/answer.h"
#include "daemon/cm_service.h"
#include "daemon/connection.h"
#include "daemon/device_list.h"
#include "daemon/dispatch.h"
#include "daemon/lane_pool.h"
#include "daemon/mad_service.h"
#include "daemon/page_store.h"
#include "daemon/roce_mad_ports.h"
#include "daemon/user_limits.h"
#include "samehost/atomic_locks.h"

namespace softrnic::daemon {

class Service {
 public:
  /// `lanes` outlives this object. `limits`: of each user, where all users of the host are served.
  /// `mad_ports`, which outlives it too: those of an emulated host; none: the RoCE devices are.
  Service(Lanes& lanes, DeviceList devices, std::optional<UserLimits> limits = {},
          MadPorts* mad_ports = nullptr)
      : lanes_(lanes),
        devices_(std::move(devices)),
        limits_(limits),
        cm_(limits),
        mads_(mad_ports != nullptr ? *mad_ports : mad_ports_) {}

  /// Handles one datagram with the descriptor that came along, if any.
  Answer handle(Connection& from, Bytes datagram, UniqueFd fd);
  /// The client has gone: takes back all that it held.
  void release(Connection& gone, std::uint64_t now_ns);

  /// Nobody has a device or its QP1 open, or a communication id: soft0 may move to another netdev.
  bool may_rebind() const {
    return holders_ == 0 && lanes_.used() == 0 && cm_.idle() && mads_.open_ports() == 0;
  }

  DeviceList& device_list() { return devices_; }
  const DeviceList& device_list() const { return devices_; }
  const PageStore& pages() const { return pages_; }
  /// The daemon's own page stands among those of the processes.
  void show_own_page(UniqueFd memfd);
  CmService& cm() { return cm_; }
  const CmService& cm() const { return cm_; }
  MadService& mads() { return mads_; }
  const MadService& mads() const { return mads_; }
  RoceMadPorts& mad_ports() { return mad_ports_; }
  /// A datagram of 256 bytes has come to QP1: the connection manager's, or for agents of programs.
  void receive_mad(const mad::Address& from, Bytes mad);
  /// device_list() says something new.
  void devices_changed();

  /// Provided by the server.
  std::function<net::NetSnapshot()> look_at_network = [] { return net::NetSnapshot{}; };
  std::function<void(const DeviceChange&)> announce = [](const DeviceChange&) {};
  std::function<void()> end = [] {};
  /// A lane that was taken over is about to have a client again.
  std::function<void(std::uint32_t)> forget_inherited = [](std::uint32_t) {};
  std::function<std::size_t()> clients = [] { return std::size_t{0}; };
  std::chrono::seconds idle{0};

 private:
  static const DispatchRow<Service> kRows[];

  Answer hello(Connection& from, const control::Hello& message, UniqueFd fd);
  Answer list_devices(Connection& from, const control::ListDevices& message, UniqueFd fd);
  Answer hold_devices(Connection& from, const control::HoldDevices& message, UniqueFd fd);
  Answer take_lane(Connection& from, const control::TakeLane& message, UniqueFd fd);
  Answer give_back_lane(Connection& from, const control::GiveBackLane& message, UniqueFd fd);
  Answer reclaim_lane(Connection& from, const control::ReclaimLane& message, UniqueFd fd);
  Answer settled(Connection& from, const control::Settled& message, UniqueFd fd);
  Answer share_memory(Connection& from, const control::ShareMemory& message, UniqueFd fd);
  Answer find_local_peer(Connection& from, const control::FindLocalPeer& message, UniqueFd fd);
  int locks_for(const Credentials& credentials);
  void free_lane(std::uint32_t lane);
  Answer show_namespace(Connection& from, const control::ShowNamespace& message, UniqueFd fd);
  Answer register_page(Connection& from, const control::RegisterPage& message, UniqueFd fd);
  Answer add_link(Connection& from, const control::AddLink& message, UniqueFd fd);
  Answer delete_link(Connection& from, const control::DeleteLink& message, UniqueFd fd);
  Answer next_page(Connection& from, const control::NextPage& message, UniqueFd fd);
  Answer status(Connection& from, const control::StatusRequest& message, UniqueFd fd);
  Answer shut_down(Connection& from, const control::Shutdown& message, UniqueFd fd);
  Answer bad_message(Bytes datagram);
  /// Whether the client may tell the daemon what to do; who could take it over anyway may. One of all users
  /// takes no orders from any.
  Expected<void, Failure> check_commander(const Connection& from) const;
  std::size_t lanes_of(uid_t user) const;

  Lanes& lanes_;
  const Credentials own_ = Credentials::own();
  DeviceList devices_;
  const std::optional<UserLimits> limits_;
  PageStore pages_;
  CmService cm_;
  RoceMadPorts mad_ports_;
  MadService mads_;
  /// The locks of those holders of lanes who may attach to each other.
  struct Circle {
    Credentials credentials;
    UniqueFd memfd;
    samehost::DirectLocks locks;  ///< what is in it
  };
  std::vector<Circle> circles_;  ///< made at first use
  struct Holder {
    const Connection* connection = nullptr;
    DescriptorName doorbell;  ///< none: it was not named
  };
  std::map<std::uint32_t, Holder> holders_of_lanes_;
  std::uint32_t bad_messages_ = 0;
  std::uint32_t holders_ = 0;
};

}  // namespace softrnic::daemon
