// The daemon of all users (softrnicd --system), and who is believed to be it.
//
// Any user can take its name first. So a program asks the kernel who listens there (SO_PEERCRED has the
// credentials of the process that called listen()): that must be root, who is systemd where the socket is a
// unit's, or the program's own user, or the one of SOFTRNIC_SYSTEM_USER.
#pragma once

#include <chrono>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"

namespace softrnic::control {

/// A connection to it. ECONNREFUSED: there is none. EACCES: somebody pretends to be it.
Expected<UniqueFd, Failure> reach_system_daemon(std::chrono::seconds patience);

}  // namespace softrnic::control
