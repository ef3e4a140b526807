#include "control/handover.h"

#include <unistd.h>

#include <string>

namespace softrnic::control {

AbstractName lane_name(std::uint32_t lane) {
  return daemon_name(geteuid(), ("/lane/" + std::to_string(lane)).c_str());
}

}  // namespace softrnic::control
