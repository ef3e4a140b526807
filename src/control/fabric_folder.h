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

/// "HOST" of the only fabric there is by default, or "FABRIC/HOST"; of a host with a '/' in its name the
/// latter. EINVAL: it is none.
Expected<HostName, Failure> parse_host_name(std::string_view text);
inline constexpr std::string_view kDefaultFabric = "fabric";

/// Of a fabric: a letter or digit, then letters, digits, '_', '-' and '.'; at most 63. Its folder has that
/// name.
bool valid_fabric_name(std::string_view name);
/// Of a host: as nodes are named in topologies (fabric::Node), where all but control characters is possible.
bool valid_host_name(std::string_view name);

/// The folder of this user's fabrics: beneath XDG_RUNTIME_DIR, else /tmp. Made, if `make`. EACCES: what is
/// there is not his alone.
Expected<std::string, Failure> fabrics_folder(bool make);
/// The socket of the fabric's own commands in it, and that of a host. The file of a host is named as the host
/// is, with "%XX" for each byte that is no letter, digit, '_', '-' or '.', and for a '.' at the beginning: no
/// two hosts have the same, none has that of the commands, and none leads to another folder. Of a name that
/// gets too long this way the file has the beginning and a checksum of all.
std::string command_socket(const std::string& folder, const std::string& fabric);
std::string host_socket(const std::string& folder, const HostName& name);

/// The folder of one fabric, which no other process has while this object lives.
class FabricFolder {
 public:
  /// Made where there is none. EADDRINUSE: another process has it.
  static Expected<FabricFolder, Failure> claim(const std::string& folder, const std::string& fabric);

  FabricFolder() = default;
  FabricFolder(FabricFolder&&) noexcept = default;
  FabricFolder& operator=(FabricFolder&& other) noexcept;
  FabricFolder(const FabricFolder&) = delete;
  FabricFolder& operator=(const FabricFolder&) = delete;
  /// Removes the folder if it is empty.
  ~FabricFolder() { leave(); }

  const std::string& path() const { return path_; }

  /// Returns once no process has the folder of that fabric.
  static void wait_until_left(const std::string& folder, const std::string& fabric);

 private:
  bool is_at(const std::string& path) const;
  void leave();

  UniqueFd fd_;  ///< locked
  std::string path_;
};

}  // namespace softrnic::control
