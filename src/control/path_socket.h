// Sockets of this user with names in the file system, in folders that are his alone.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"

namespace softrnic::control {

/// A blocking SOCK_SEQPACKET socket, connected to this user's listener at that path. ECONNREFUSED: nobody
/// listens there.
Expected<UniqueFd, Failure> reach_path(const std::string& path);

/// A non-blocking SOCK_SEQPACKET socket that listens at a path, which goes with it.
class PathListener {
 public:
  PathListener() = default;
  /// Where nothing is, or a socket of this user that nobody listens at. The folder has to be locked
  /// (FabricFolder): a process that has bound its socket and not yet called listen() looks like one that has
  /// ended. EADDRINUSE: somebody listens there; ENOTSOCK: another kind of file is there, and stays.
  static Expected<PathListener, Failure> open(const std::string& path);

  PathListener(PathListener&& other) noexcept = default;
  PathListener& operator=(PathListener&& other) noexcept;
  PathListener(const PathListener&) = delete;
  PathListener& operator=(const PathListener&) = delete;
  ~PathListener() { close(); }

  int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }

 private:
  struct File {
    dev_t device = 0;
    ino_t number = 0;
    bool operator==(const File&) const = default;
  };
  static File file_at(const std::string& path);
  void close();

  UniqueFd fd_;
  std::string path_;
  File file_{};  ///< that was made: another one at the path by then is not removed
};

}  // namespace softrnic::control
