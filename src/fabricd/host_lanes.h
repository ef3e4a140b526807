// The lanes of an emulated host: numbers and sockets for its programs, and to which of them a packet goes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/lane_limits.h"
#include "base/strong.h"
#include "daemon/event_loop.h"
#include "daemon/lane_pool.h"
#include "fabricd/lane_socket.h"

namespace softrnic::fabricd {

class HostLanes final : public daemon::Lanes {
 public:
  /// Both outlive this object.
  HostLanes(daemon::EventLoop& loop, HostPorts& ports) : loop_(loop), ports_(ports) {}
  ~HostLanes();
  HostLanes(const HostLanes&) = delete;
  HostLanes& operator=(const HostLanes&) = delete;

  /// A lane that was full, or is no longer waited for, takes packets again.
  std::function<void()> takes_again = [] {};

  // daemon::Lanes
  Expected<daemon::LaneGrant, Failure> take(int pidfd, uid_t user) override;
  void free(std::uint32_t lane) override;
  std::uint32_t made() const override { return made_; }
  std::uint32_t used() const override { return used_; }
  int socket_of(std::uint32_t lane) const override;
  std::uint32_t receive_buffer() const override;

  /// A frame, LRH to ICRC, that has come to a port for a queue pair of the host; for all that have joined its
  /// group by that port if that is Qpn::kMulticast. False: its lane is full, and it is to be brought again.
  bool deliver(std::uint8_t port, Bytes frame, Qpn to, TimePoint now);
  /// Ports have room again.
  void resume();
  /// After all frames of a turn, and in each: sends what has come together.
  void flush(TimePoint now);

  /// When a full lane is no longer waited for.
  TimePoint deadline() const;
  void advance(TimePoint now);

 private:
  struct Lane {
    explicit Lane(UniqueFd ours, UniqueFd theirs, HostPorts& ports)
        : socket(std::move(ours), ports), programs(std::move(theirs)) {}
    /// True once after it has refused a frame, when its socket has room again.
    bool stops_refusing();

    LaneSocket socket;
    UniqueFd programs;              ///< the other end
    std::uint32_t watched_for = 0;  ///< by the event loop
    bool has_refused = false;       ///< a frame, which waits in its port
  };

  /// Few, where a large fabric has thousands of hosts that are looked at in each turn.
  std::span<const std::unique_ptr<Lane>> lanes_so_far() const { return std::span(lanes_).first(made_); }
  void read(std::uint32_t number);
  void watch(std::uint32_t number);
  void deliver_to_group(std::uint8_t port, Bytes frame, TimePoint now);

  daemon::EventLoop& loop_;
  HostPorts& ports_;
  std::array<std::unique_ptr<Lane>, kLaneNumbers> lanes_;  ///< 0 is the service's own
  std::uint32_t made_ = 1;
  std::uint32_t used_ = 0;
  std::uint32_t last_ = 0;  ///< given out
};

}  // namespace softrnic::fabricd
