// How a program that `softrnic run` starts finds the devices under /sys and /dev.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "control/client.h"

namespace softrnic::cli {

enum class SysfsWay {
  automatic,        ///< by the program: preload if that reaches it, else a namespace if that is allowed
  preload,          ///< libsoftrnic-preload.so
  mount_namespace,  ///< mounts of its own
  none,
};
std::optional<SysfsWay> parse_sysfs_way(std::string_view word);

/// Prepares this process for exec. `libraries`: the folder of softrnic's libraries. False, with a
/// complaint, when a way that was asked for cannot be gone; automatic goes on without, and says so if
/// `explain`.
bool show_devices(SysfsWay way, control::Client& client, const std::string& program,
                  const std::string& device, const std::string& libraries, bool explain);

}  // namespace softrnic::cli
