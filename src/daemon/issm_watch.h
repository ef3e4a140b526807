// The issm files: as long as a program has the one of a port open, the port says that it has a subnet manager
// (capability bit IsSM, IBTA 14.2.5.6). Of the kernel they are the devices /dev/infiniband/issm*; here plain
// files in a folder of this process alone, which it watches.
//
// Unlike the device, which one program may have, a file can be open several times.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/time.h"
#include "base/unique_fd.h"
#include "daemon/mad_ports.h"

namespace softrnic::daemon {

class IssmWatch {
 public:
  using Changed = std::function<void(const MadPortName& port, bool is_sm)>;

  /// Makes a folder that is no other user's to write to, in XDG_RUNTIME_DIR, /run or /tmp. Without one there
  /// are no files; readable_fd() is -1.
  explicit IssmWatch(Changed changed);
  /// Takes the files away.
  ~IssmWatch();
  IssmWatch(const IssmWatch&) = delete;
  IssmWatch& operator=(const IssmWatch&) = delete;

  void add(const MadPortName& port);
  void remove(const MadPortName& port);
  /// Where the file of a port is, or would be.
  std::string path_of(const MadPortName& port) const;

  /// Readable when progress() has something to do.
  int readable_fd() const { return inotify_.get(); }
  void progress(TimePoint now);
  void advance(TimePoint now);
  TimePoint deadline() const;

 private:
  struct File {
    UniqueFd fd;     ///< this process's own
    int opened = 0;  ///< events that told so, for where the kernel cannot be asked
    bool is_sm = false;
    TimePoint looks_again = kNever;  ///< the file was closed, and the kernel had not noticed yet
    Duration pause{};
  };

  /// Whether another process has the file open.
  static bool is_open_elsewhere(const File& file);
  void event(const std::string& name, bool is_opened, TimePoint now);
  /// What is so may have changed.
  void look_at(const MadPortName& port, File& file);

  Changed changed_;
  std::string folder_;
  UniqueFd inotify_;
  std::map<MadPortName, File> files_;
};

}  // namespace softrnic::daemon
