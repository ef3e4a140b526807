// Where the sockets of emulated fabrics are: a folder for each user, in it one for each fabric, in that a
// socket for each host.
//
// Names in the file system and not abstract ones, as hosts of one fabric may be programs in several network
// namespaces. The user's folder is his alone (0700), so whoever is in it is he.
#pragma once

#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"

namespace softrnic::control {

/// An emulated host by the names of its fabric and its own.
struct HostName {
  std::string fabric;
  std::string host;
};

/// "HOST" of the only fabric there is by default, or "FABRIC/HOST". EINVAL: it is none.
Expected<HostName, Failure> parse_host_name(std::string_view text);
inline constexpr std::string_view kDefaultFabric = "fabric";

/// A letter or digit, then letters, digits, '_', '-' and '.'; at most 63. Names here become parts of paths.
bool valid_fabric_name(std::string_view name);

/// The folder of this user's fabrics: beneath XDG_RUNTIME_DIR, else /tmp. Made, if `make`. EACCES: what is
/// there is not his alone.
Expected<std::string, Failure> fabrics_folder(bool make);
/// The socket of the fabric's own commands in it, and that of a host.
std::string command_socket(const std::string& folder, const std::string& fabric);
std::string host_socket(const std::string& folder, const HostName& name);

/// A blocking SOCK_SEQPACKET socket, connected to this user's listener at that path. ECONNREFUSED: nobody
/// listens there.
Expected<UniqueFd, Failure> reach_path(const std::string& path);
/// A non-blocking one that listens there, where there was none or one that nobody listens at.
Expected<UniqueFd, Failure> listen_at(const std::string& path);

}  // namespace softrnic::control
