// The process that keeps the files of a mount namespace up to date.
#include <dirent.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "base/clock.h"
#include "base/unique_file.h"
#include "control/client.h"
#include "sysfs/folder.h"
#include "sysfs/namespace.h"

namespace softrnic::sysfs {
namespace {

/// Whether any process but this one is there. Looks through /proc: a namespace has no list of who is in it.
bool somebody_is_in(const std::string& mount_namespace) {
  const UniqueDirectory list(opendir("/proc"));
  while (const dirent* entry = list ? readdir(list.get()) : nullptr) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    if (mount_namespace_of(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10))) == mount_namespace)
      return true;
  }
  return false;
}

/// Writes what has changed since the last time.
class Files {
 public:
  Files(int folder, std::string device) : folder_(folder), device_(std::move(device)) {}

  void update() {
    if (!client_) {
      auto connected = control::Client::connect();
      if (connected) client_ = std::move(*connected);
    }
    const auto facts = client_ ? gather(*client_, Wanted::state_and_counters, device_) : std::nullopt;
    if (!facts) {
      client_.reset();  // the daemon is gone: the next one is asked the next time
      return;
    }
    Tree tree = make_tree(*facts);
    if (shape_of(tree) != shape_of(written_)) {
      static_cast<void>(write_all(folder_, tree));
    } else {
      for (std::size_t i = 0; i < tree.size(); ++i)
        if (tree[i] != written_[i]) static_cast<void>(write_one(folder_, tree, tree[i].path));
    }
    written_ = std::move(tree);
  }

 private:
  int folder_;
  std::string device_;
  std::unique_ptr<control::Client> client_;
  Tree written_;
};

}  // namespace

std::string mount_namespace_of(pid_t process) {
  char name[64];
  const std::string path =
      "/proc/" + (process != 0 ? std::to_string(process) : std::string("self")) + "/ns/mnt";
  const ssize_t length = readlink(path.c_str(), name, sizeof name);
  return length > 0 ? std::string(name, static_cast<std::size_t>(length)) : std::string();
}

void keep_up_to_date(int folder, pid_t first, const std::string& mount_namespace, const std::string& device) {
  constexpr auto kLook = std::chrono::seconds(1);  // whether somebody is there yet
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, first, 0)));
  Files files(folder, device);
  bool first_lives = true;
  for (TimePoint looked{};;) {
    files.update();
    pollfd event{first_lives ? process.get() : -1, POLLIN, 0};
    const int happened = poll(&event, 1, kLifespanMs);
    if (happened > 0 || (!process && kill(first, 0) != 0)) first_lives = false;
    if (first_lives || monotonic_now() - looked < kLook) continue;
    if (!somebody_is_in(mount_namespace)) return;
    looked = monotonic_now();
  }
}

}  // namespace softrnic::sysfs
