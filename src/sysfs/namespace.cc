#include "sysfs/namespace.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/unique_file.h"

namespace softrnic::sysfs {
namespace {

constexpr const char* kFolders[] = {"/sys/class/infiniband", "/sys/class/infiniband_verbs",
                                    "/sys/class/infiniband_mad", "/dev/infiniband"};

Unexpected<NamespaceTrouble> trouble(const char* step) { return {NamespaceTrouble{errno, step}}; }

using Done = Expected<void, NamespaceTrouble>;

bool is_folder(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool write_line(const char* path, const std::string& line) {
  const UniqueFd file(open(path, O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

std::string same_id(unsigned id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; }

/// The program keeps its user and group.
Done make_namespaces() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return trouble("unshare(2) with CLONE_NEWUSER");
    static_cast<void>(write_line("/proc/self/setgroups", "deny"));
    if (!write_line("/proc/self/uid_map", same_id(user)) || !write_line("/proc/self/gid_map", same_id(group)))
      return trouble("writing /proc/self/uid_map");
  }
  // what is mounted outside later shows here, and nothing of ours outside
  if (mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return trouble("mount(2) with MS_SLAVE");
  return {};
}

std::string by_descriptor(int fd, const std::string& name) {
  return "/proc/self/fd/" + std::to_string(fd) + "/" + name;
}

std::vector<dirent> list(int folder) {
  std::vector<dirent> out;
  const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const UniqueDirectory open_folder(fd >= 0 ? fdopendir(fd) : nullptr);
  if (!open_folder) return out;
  while (const dirent* entry = readdir(open_folder.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") out.push_back(*entry);
  return out;
}

/// One entry of the old folder in the new one, which is a tmpfs at `base`.
bool bring_over(int old, const std::string& base, const dirent& entry) {
  const std::string path = base + "/" + entry.d_name;
  struct stat status {};
  if (fstatat(old, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  if (S_ISLNK(status.st_mode)) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = readlinkat(old, entry.d_name, target.data(), target.size() - 1);
    return length >= 0 && symlink(target.data(), path.c_str()) == 0;
  }
  if (S_ISDIR(status.st_mode)) {
    if (mkdir(path.c_str(), 0755) != 0) return false;
  } else {
    const UniqueFd place(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!place) return false;
  }
  return mount(by_descriptor(old, entry.d_name).c_str(), path.c_str(), nullptr, MS_BIND | MS_REC, nullptr) ==
         0;
}

/// A folder in which others can be made, with all that was in it.
Done make_writable(const std::string& base) {
  const UniqueFd old(open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!old) return trouble("open(2) of /sys/class or /dev");
  const std::vector<dirent> entries = list(old.get());
  if (mount("softrnic", base.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m") != 0)
    return trouble("mount(2) of a tmpfs over /sys/class or /dev");
  for (const dirent& entry : entries)
    if (!bring_over(old.get(), base, entry)) return trouble("mount(2) of what was in /sys/class or /dev");
  return {};
}

Done make_folders() {
  for (const char* path : kFolders) {
    if (is_folder(path)) continue;
    const std::string base = std::string(path).substr(0, std::string_view(path).rfind('/'));
    if (mkdir(path, 0755) == 0) continue;
    if (const auto done = make_writable(base); !done) return done;
    if (mkdir(path, 0755) != 0 && errno != EEXIST) return trouble("mkdir(2) in /sys/class or /dev");
  }
  return {};
}

/// The tmpfs of the tree, its folders mounted where programs look for them.
Expected<UniqueFd, NamespaceTrouble> mount_tree() {
  const char* const last = kFolders[std::size(kFolders) - 1];
  if (mount("softrnic", last, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=8m") != 0)
    return trouble("mount(2) of a tmpfs");
  UniqueFd folder(open(last, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return trouble("open(2) of a tmpfs");
  for (const char* parent : {"sys", "sys/class", "dev"})
    if (mkdirat(folder.get(), parent, 0755) != 0) return trouble("mkdir(2) in a tmpfs");
  for (const char* path : kFolders) {
    if (mkdirat(folder.get(), path + 1, 0755) != 0) return trouble("mkdir(2) in a tmpfs");
    if (mount(by_descriptor(folder.get(), path + 1).c_str(), path, nullptr, MS_BIND, nullptr) != 0)
      return trouble("mount(2) with MS_BIND");
  }
  return folder;
}

}  // namespace

Expected<UniqueFd, NamespaceTrouble> enter_namespace() {
  std::array<char, PATH_MAX> here{};
  const bool known = getcwd(here.data(), here.size()) != nullptr;
  const mode_t mask = umask(022);
  auto entered = [&]() -> Expected<UniqueFd, NamespaceTrouble> {
    if (const auto done = make_namespaces(); !done) return Unexpected{done.error()};
    if (const auto done = make_folders(); !done) return Unexpected{done.error()};
    return mount_tree();
  }();
  umask(mask);
  // who stood in /dev stands in the new one
  if (known) static_cast<void>(!chdir(here.data()));
  return entered;
}

Expected<void, NamespaceTrouble> try_namespace() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return trouble("pipe(2)");
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const pid_t child = fork();
  if (child < 0) return trouble("fork(2)");
  if (child == 0) {
    const auto entered = enter_namespace();
    const NamespaceTrouble none;
    // a pointer into the program's constants is as good in the parent
    const NamespaceTrouble& result = entered ? none : entered.error();
    static_cast<void>(!write(writing.get(), &result, sizeof result));
    _exit(0);
  }
  writing.reset();
  NamespaceTrouble result{ECHILD, "fork(2)"};
  const ssize_t got = read(reading.get(), &result, sizeof result);
  waitpid(child, nullptr, 0);
  if (got != static_cast<ssize_t>(sizeof result) || result.error != 0) return Unexpected{result};
  return {};
}

}  // namespace softrnic::sysfs
