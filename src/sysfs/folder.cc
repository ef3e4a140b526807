#include "sysfs/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <set>

#include "base/settings.h"
#include "base/unique_file.h"

namespace softrnic::sysfs {
namespace {

constexpr const char* kShape = ".shape";  ///< shape_of() the tree that is there
constexpr const char* kNew = ".new";      ///< files that are not named yet
constexpr mode_t kFolderMode = 0755, kFileMode = 0444;

/// Relative to the folder.
const char* relative(const std::string& path) { return path.c_str() + (path.starts_with('/') ? 1 : 0); }

int make_folders_of(int folder, const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    if (mkdirat(folder, relative(parent), kFolderMode) != 0 && errno != EEXIST) return errno;
  }
  return 0;
}

int put_in_place(int folder, const std::string& from, const std::string& to) {
  if (renameat(folder, from.c_str(), folder, relative(to)) == 0) return 0;
  if (errno != ENOENT) return errno;
  if (const int error = make_folders_of(folder, to)) return error;
  return renameat(folder, from.c_str(), folder, relative(to)) == 0 ? 0 : errno;
}

/// A name that no other thread uses.
std::string fresh_name() {
  return std::string(kNew) + "/" + std::to_string(getpid()) + "-" + std::to_string(syscall(SYS_gettid));
}

int write_text(int folder, const std::string& path, const std::string& text) {
  const std::string name = fresh_name();
  if (mkdirat(folder, kNew, 0700) != 0 && errno != EEXIST) return errno;
  UniqueFd file(openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno;
  const ssize_t written = write(file.get(), text.data(), text.size());
  // not by the mode of open, which the umask of any program cuts
  const bool whole = written == static_cast<ssize_t>(text.size()) && fchmod(file.get(), kFileMode) == 0;
  const int error = whole ? put_in_place(folder, name, path) : written < 0 ? errno : ENOSPC;
  if (error != 0) unlinkat(folder, name.c_str(), 0);
  return error;
}

int write_link(int folder, const std::string& path, const std::string& target) {
  char old[256];
  const ssize_t length = readlinkat(folder, relative(path), old, sizeof old);
  if (length >= 0 && std::string_view(old, length) == target) return 0;
  const std::string name = fresh_name();
  if (mkdirat(folder, kNew, 0700) != 0 && errno != EEXIST) return errno;
  unlinkat(folder, name.c_str(), 0);
  if (symlinkat(target.c_str(), folder, name.c_str()) != 0) return errno;
  return put_in_place(folder, name, path);
}

int write_node(int folder, const Node& node) {
  if (node.kind == NodeKind::link) return write_link(folder, node.path, node.text);
  return read_file(folder, node.path) == node.text ? 0 : write_text(folder, node.path, node.text);
}

/// The nodes and all folders above them.
std::set<std::string, std::less<>> names_of(const Tree& tree) {
  std::set<std::string, std::less<>> names;
  for (const Node& node : tree)
    for (std::size_t end = node.path.size(); end != 0 && end != std::string::npos;
         end = node.path.rfind('/', end - 1))
      names.insert(node.path.substr(0, end));
  return names;
}

/// Removes what is below `path` and not in `names`. Goes no deeper than a tree of ours is.
void remove_others(int folder, const std::string& path, const std::set<std::string, std::less<>>& names,
                   unsigned depth = 0) {
  constexpr unsigned kDeepest = 12;
  const int fd =
      openat(folder, path.empty() ? "." : relative(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  const UniqueDirectory list(fd >= 0 ? fdopendir(fd) : nullptr);
  if (!list || depth > kDeepest) return;
  while (const dirent* entry = readdir(list.get())) {
    if (entry->d_name[0] == '.') continue;  // ours, and "..": no node begins so
    const std::string child = path + "/" + entry->d_name;
    if (entry->d_type == DT_DIR) remove_others(folder, child, names, depth + 1);
    if (!names.contains(child)) unlinkat(folder, relative(child), entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
  }
}

/// In a user namespace all users that it does not know have one number, and that may be the program's own: so
/// the folder has to be writable as well.
bool is_own(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
         faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

/// `base`, made if it is missing and may be; empty if it is another user's.
std::string own_folder(const std::string& base) {
  if (mkdir(base.c_str(), kFolderMode) == 0) chmod(base.c_str(), kFolderMode);
  return is_own(base) ? base : std::string();
}

std::string base_folder() {
  const char* const runtime = secure_getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/' && is_own(runtime)) {
    const std::string base = own_folder(std::string(runtime) + "/softrnic");
    if (!base.empty()) return base;
  }
  const std::string user = "softrnic-" + std::to_string(geteuid());
  for (const std::string& base : {std::string("/run/softrnic"), "/dev/shm/" + user, "/tmp/" + user}) {
    const std::string own = own_folder(base);
    if (!own.empty()) return own;
  }
  return {};
}

}  // namespace

Expected<UniqueFd, int> open_folder(const std::string& path) {
  if (mkdir(path.c_str(), kFolderMode) == 0) {
    chmod(path.c_str(), kFolderMode);
  } else if (errno != EEXIST) {
    return Unexpected{errno};
  }
  UniqueFd folder(above_stdio(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)));
  struct stat status {};
  if (!folder || fstat(folder.get(), &status) != 0) return Unexpected{errno};
  if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return Unexpected{EPERM};
  return folder;
}

std::string folder_path(const std::string& device) {
  struct stat network {};
  const std::string base = base_folder();
  if (base.empty() || device.find('/') != std::string::npos || stat("/proc/self/ns/net", &network) != 0)
    return {};
  // programs are told names below it: it has to be one without links
  char real[PATH_MAX];
  if (realpath(base.c_str(), real) == nullptr) return {};
  std::string host = settings().host;  // "HOST" or "FABRIC/HOST"
  std::replace(host.begin(), host.end(), '/', '.');
  std::string path = std::string(real) + "/sysfs-" + std::to_string(network.st_ino);
  for (const std::string& part : {host, device})
    if (!part.empty()) path += "-" + part;
  return path;
}

std::optional<std::string> read_file(int folder, const std::string& path) {
  const UniqueFd file(openat(folder, relative(path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  char text[512];
  const ssize_t length = file ? read(file.get(), text, sizeof text) : -1;
  if (length < 0) return std::nullopt;
  return std::string(text, static_cast<std::size_t>(length));
}

bool has_shape(int folder, const Tree& tree) { return read_file(folder, kShape) == shape_of(tree); }

int write_all(int folder, const Tree& tree) {
  // until all is done it is no tree: who looks meanwhile does it too
  unlinkat(folder, kShape, 0);
  for (const Node& node : tree) {
    if (const int error = write_node(folder, node)) return error;
  }
  remove_others(folder, "", names_of(tree));
  return write_text(folder, kShape, shape_of(tree));
}

int write_one(int folder, const Tree& tree, std::string_view path) {
  if (!has_shape(folder, tree)) return write_all(folder, tree);
  const Node* const node = find(tree, path);
  return node != nullptr ? write_node(folder, *node) : 0;
}

}  // namespace softrnic::sysfs
