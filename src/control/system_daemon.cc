#include "control/system_daemon.h"

#include <unistd.h>

#include "base/reason_id.h"
#include "base/settings.h"
#include "control/channel.h"
#include "control/local_name.h"

namespace softrnic::control {

Expected<UniqueFd, Failure> reach_system_daemon(std::chrono::seconds patience) {
  const uid_t trusted[] = {0, geteuid(), settings().system_user};
  return reach(system_daemon_name(), patience, trusted, ReasonId::daemon_not_trusted);
}

}  // namespace softrnic::control
