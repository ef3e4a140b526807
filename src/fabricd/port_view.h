// A port of an emulated adapter as the programs of its host see it: by verbs, and by libibumad.
#pragma once

#include <cstdint>
#include <string>

#include "control/mad_ca.h"
#include "device/device_info.h"
#include "fabric/managed_node.h"

namespace softrnic::fabricd {

/// What a port has besides its attributes of management.
struct PortIdentity {
  std::string device;       ///< name of its verbs device
  std::uint32_t index = 0;  ///< of that device
  wire::Gid address;        ///< of its emulated IPoIB interface
  /// See device::InfinibandPort.
  std::uint32_t reregistrations = 0;
};

/// Each port is a device of verbs with one port, as adapters with several ports are shown by mlx5 too.
device::DeviceInfo device_of(const fabric::ManagedNode& node, const fabric::ManagedPort& port,
                             const PortIdentity& identity);

/// The adapter as a whole, by the name of its first port's device.
control::MadCa ca_of(const fabric::ManagedNode& node, const std::string& name);

}  // namespace softrnic::fabricd
