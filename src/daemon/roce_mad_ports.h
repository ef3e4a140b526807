// QP1 of the host's RoCE devices, for programs: device tables become what umad shows, and addresses of umad
// those of the GSI (annex A17: all have a GRH, and there is no QP0).
#pragma once

#include <functional>
#include <vector>

#include "daemon/mad_ports.h"
#include "device/device_info.h"
#include "mad/address.h"

namespace softrnic::daemon {

class RoceMadPorts final : public MadPorts {
 public:
  /// Provided by the server: QP1.
  std::function<void(const mad::Address&, Bytes)> send_mad = [](const mad::Address&, Bytes) {};

  void devices_changed(std::vector<device::DeviceInfo> devices) { devices_ = std::move(devices); }

  /// The ports that a datagram from there may be for, and the address as they see it. Several devices on one
  /// netdev have the same GIDs.
  struct Arrival {
    MadPortName port;
    mad::Peer from;
  };
  std::vector<Arrival> arrivals(const mad::Address& from) const;

  // MadPorts. An address without a GRH is completed as that of verbs is (device/lid.h).
  std::vector<control::MadCa> cas() const override;
  Expected<mad::Peer, Failure> complete(const MadPortName& port, const mad::Peer& to) const override;
  void send(const MadPortName& port, mad::Queue queue, const mad::Peer& to, Bytes mad) override;
  void set_is_sm(const MadPortName&, bool) override {}

 private:
  const device::DeviceInfo* find(const MadPortName& port) const;

  std::vector<device::DeviceInfo> devices_;
};

}  // namespace softrnic::daemon
