// How the daemon of all users begins (softrnicd --system): with a name that programs believe, and without
// root's rights.
#pragma once

#include <string>

#include "base/expected.h"
#include "base/unique_fd.h"

namespace softrnic::daemon {

/// The socket that a unit of systemd has given (LISTEN_FDS, sd_listen_fds(3)), else one that root opens here.
/// The error is a sentence for people: there are no clients yet.
Expected<UniqueFd, std::string> listen_for_all_users();

/// Becomes `user`, a name or a number, for good; nothing to do for who is not root. An error as above.
Expected<void, std::string> become(const std::string& user);

}  // namespace softrnic::daemon
