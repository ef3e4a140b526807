// What the files under /sys tell, taken together: the devices, and what was counted of each.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "control/page_reader.h"
#include "device/device_info.h"

namespace softrnic::control {
class Client;
}

namespace softrnic::sysfs {

struct DeviceFacts {
  device::DeviceInfo info;
  control::CounterValues counters{};
};

using Facts = std::vector<DeviceFacts>;

/// What one process has counted: in all, and its living queue pairs each.
struct ProcessCounters {
  control::CounterValues counted{};
  std::vector<control::QpView> qps;
};

/// Shares out what was counted. A lane serves all devices, so a queue pair's figures are its device's, and
/// what no living queue pair of another device has counted belongs to the first. With one device that is
/// all there is.
void share_out(std::span<const ProcessCounters> processes, Facts& facts);

enum class Wanted : std::uint8_t { state, state_and_counters };

/// Asks the daemon. `device`: this one alone; empty: all. Nothing when the daemon does not answer.
std::optional<Facts> gather(control::Client& client, Wanted wanted, const std::string& device);

}  // namespace softrnic::sysfs
