// Which devices an id may use.
#pragma once

#include <string>

#include "device/device_info.h"

namespace softrnic::cma {

struct DeviceChoice {
  std::string only;     ///< the one that its program sees; empty: all
  bool packets = true;  ///< those whose queue pairs go by packets (InfiniBand's transport)
  bool streams = true;  ///< those whose queue pairs go by streams (iWARP)

  bool allows(const device::DeviceInfo& device) const {
    return (only.empty() || device.name == only) && (device::has_streams(device.kind) ? streams : packets);
  }
  /// The same, but for streams.
  DeviceChoice without_streams() const { return {only, packets, false}; }
  DeviceChoice without_packets() const { return {only, false, streams}; }
};

}  // namespace softrnic::cma
