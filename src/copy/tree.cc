#include "copy/tree.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include "base/unique_file.h"

namespace softrnic::copy {
namespace {

constexpr unsigned kMaxRemovedDepth = 1000;

}  // namespace

bool is_clean_path(std::string_view path) {
  if (path.empty()) return true;
  if (path.size() >= PATH_MAX || path.find('\0') != std::string_view::npos) return false;
  for (;;) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (part.empty() || part.size() > NAME_MAX || part == "." || part == "..") return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

bool clean_path(std::string_view written, std::string& path) {
  path.clear();
  while (!written.empty()) {
    const std::size_t end = std::min(written.find('/'), written.size());
    const std::string_view part = written.substr(0, end);
    if (part == "..") return false;
    if (!part.empty() && part != ".") path += (path.empty() ? "" : "/") + std::string(part);
    written.remove_prefix(std::min(end + 1, written.size()));
  }
  return is_clean_path(path);
}

std::pair<std::string, std::string> split_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string join_path(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a.ends_with('/') ? a + b : a + "/" + b;
}

Result<Tree> Tree::open(const std::string& path) {
  Tree tree;
  tree.root_ = UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!tree.root_) return fail_errno(path);
  if (!tree.open_at("", O_PATH | O_DIRECTORY)) return fail_errno("openat2 (Linux 5.6 or later)");
  return tree;
}

UniqueFd Tree::open_at(const std::string& path, int flags, mode_t mode) const {
  return resolve(path, flags, mode, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

UniqueFd Tree::open_without_links(const std::string& path, int flags) const {
  return resolve(path, flags, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

UniqueFd Tree::resolve(const std::string& path, int flags, mode_t mode, std::uint64_t rules) const {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = rules;
  const char* where = path.empty() ? "." : path.c_str();
  for (;;) {
    const long fd = syscall(SYS_openat2, root_.get(), where, &how, sizeof how);
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) return UniqueFd(static_cast<int>(fd));
  }  // EAGAIN: a rename happened on the way, and the kernel could not be sure
}

Result<Tree> Tree::sub(const std::string& path) const {
  Tree tree;
  tree.root_ = open_at(path, O_PATH | O_DIRECTORY);
  if (!tree.root_) return fail_errno(path);
  return tree;
}

int Tree::parent_of(const std::string& path, std::string& name) {
  auto [folder, last] = split_path(path);
  name = std::move(last);
  if (folder.empty()) return root_.get();
  if (!parent_ || folder != parent_path_) {
    parent_ = open_without_links(folder, O_PATH | O_DIRECTORY);
    parent_path_ = std::move(folder);
  }
  return parent_.get();
}

UniqueFd open_own(int directory, const std::string& name, int flags, mode_t mode) {
  UniqueFd file(
      openat(directory, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode));
  struct stat info {};
  if (!file || fstat(file.get(), &info) != 0) return {};
  if (S_ISREG(info.st_mode) && info.st_nlink == 1 && info.st_uid == geteuid()) return file;
  file = UniqueFd();
  errno = EPERM;
  return file;
}

bool remove_all(int directory, const std::string& name, unsigned depth) {
  if (unlinkat(directory, name.c_str(), 0) == 0) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  if (depth == kMaxRemovedDepth) return errno = ELOOP, false;
  const int fd = openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  const UniqueDirectory entries(fdopendir(fd));
  if (entries == nullptr) return close(fd), false;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string one = entry->d_name;
    if (one != "." && one != ".." && !remove_all(fd, one, depth + 1)) return false;
  }
  return unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0;
}

}  // namespace softrnic::copy
