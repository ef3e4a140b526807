// An opened device.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "base/expected.h"
#include "base/held_across_fork.h"
#include "base/reason.h"
#include "device/device_info.h"
#include "rnic/async_events.h"
#include "rnic/lanes.h"
#include "rnic/object.h"

namespace softrnic::rnic {

/// Thread-safe.
class Context {
 public:
  /// `lanes` outlives the context. Check events().valid() afterwards: without it there were no fds left.
  Context(std::shared_ptr<const device::DeviceInfo> info, Lanes& lanes);

  /// The device as of now.
  std::shared_ptr<const device::DeviceInfo> info() const;
  /// Its queue pairs go by streams of TCP (iWARP).
  bool has_streams() const { return device::has_streams(info()->kind); }
  /// Replaces what is known of the device and raises the events of its port accordingly.
  void update(std::shared_ptr<const device::DeviceInfo> info);
  /// The daemon or the device is gone: raises DEVICE_FATAL (once).
  void device_lost();

  Lanes& lanes() const { return lanes_; }
  AsyncEventQueue& events() { return events_; }

  // ---- ibv_query_*
  ibv_device_attr device_attributes() const;
  /// EINVAL: no such port.
  Expected<ibv_port_attr, Failure> port_attributes(unsigned port) const;
  /// What the netdev says of its speed, in Mb/s; 10,000 when it says nothing. EINVAL: no such port.
  Expected<std::uint64_t, Failure> port_mbps(unsigned port) const;
  /// Zero for an empty entry below gid_tbl_len; EINVAL beyond.
  Expected<device::GidEntry, Failure> gid(unsigned port, int index) const;
  /// In host order. EINVAL beyond pkey_tbl_len.
  Expected<std::uint16_t, Failure> pkey(unsigned port, int index) const;

  /// Objects alive, held against the limits.
  struct Counts {
    UseCount pds, mrs, mws, cqs, srqs, qps, ahs, channels, counters, xrc_domains;
    std::atomic<std::uint64_t> device_memory_bytes{0};
  };
  Counts counts;

 private:
  Lanes& lanes_;
  mutable std::mutex mutex_;  ///< guards info_
  const HeldAcrossFork held_{mutex_, HeldAcrossFork::Rank::context};
  std::shared_ptr<const device::DeviceInfo> info_;
  bool lost_ = false;
  AsyncEventQueue events_;
};

/// What ibv_query_device and ibv_query_port answer of a device that nobody need have opened.
ibv_device_attr attributes_of(const device::DeviceInfo& device);
ibv_port_attr port_attributes_of(const device::DeviceInfo& device);

/// IBTA MTU code (IBV_MTU_256 …) of a number of bytes, rounded down; and back.
ibv_mtu mtu_code(std::uint32_t bytes);
std::uint32_t mtu_bytes(ibv_mtu code);

}  // namespace softrnic::rnic
