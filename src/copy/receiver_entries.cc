// Directories and symbolic links.
#include "copy/receiver.h"

namespace softrnic::copy {
int Receiver::make_directory(const Directory& directory, const std::string& path) {
  int parent = -1, error = 0;
  std::string name;
  if (!path.empty() && !has(kDryRun)) {
    if (!place_of(path, parent, name, error)) return error;
    // Its owner has to get in until the end.
    const mode_t mode =
        has(kPreserve) ? (directory.metadata.mode & 07777) | 0700 : (directory.metadata.mode & 0777) | 0700;
    if (mkdirat(parent, name.c_str(), mode) != 0) {
      struct stat there {};
      if (errno != EEXIST) return errno;
      if (fstatat(parent, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(there.st_mode))
        return ENOTDIR;
    }
  }
  return 0;
}

/// They are set at the end.
Result<void> Receiver::remember_attributes(const Directory& directory) {
  if (!has(kPreserve) || has(kDryRun)) return {};
  if (const auto held = memory_.add(Budget::cost_of(directory.path) + sizeof(Metadata)); !held) return held;
  directories_.emplace_back(mapped(directory.path), directory.metadata);
  return {};
}

Result<void> Receiver::take_directory(const Directory& directory) {
  if (const auto counted = count_up(directory.number); !counted) return counted;
  if (const auto known = guard_.announce(EntryKind::directory, directory.path); !known) return known;
  const int error = make_directory(directory, directory.path);
  return error == 0 ? remember_attributes(directory) : failed(directory.number, error, directory.path);
}

int Receiver::make_symlink(const Symlink& symlink, const std::string& path) {
  int directory = -1, error = 0;
  std::string name;
  if (!place_of(path, directory, name, error)) return error;
  if (symlink.target.empty() || symlink.target.find('\0') != std::string::npos) return EINVAL;
  const std::string part = part_name(name);
  unlinkat(directory, part.c_str(), 0);
  if (symlinkat(symlink.target.c_str(), directory, part.c_str()) != 0) return errno;
  const std::array<timespec, 2> times{
      {{0, UTIME_OMIT},
       {static_cast<time_t>(symlink.metadata.mtime), static_cast<long>(symlink.metadata.mtime_ns)}}};
  utimensat(directory, part.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
  if (geteuid() == 0)
    static_cast<void>(
        !fchownat(directory, part.c_str(), symlink.metadata.uid, symlink.metadata.gid, AT_SYMLINK_NOFOLLOW));
  if (renameat(directory, part.c_str(), directory, name.c_str()) == 0) return 0;
  error = errno;
  unlinkat(directory, part.c_str(), 0);
  return error;
}

/// A destination with a name of its own begins behind that name, unless the link is all there is.
bool Receiver::may_lead(const Symlink& symlink) const {
  const std::size_t slash = destination_.new_name.empty() ? std::string::npos : symlink.path.find('/');
  return outside_links_ ||
         !leads_out(slash == std::string::npos ? symlink.path : symlink.path.substr(slash + 1),
                    symlink.target);
}

Result<void> Receiver::take_symlink(const Symlink& symlink) {
  if (const auto counted = count_up(symlink.number); !counted) return counted;
  if (const auto known = guard_.announce(EntryKind::symlink, symlink.path); !known) return known;
  if (!may_lead(symlink))
    return failed(
        symlink.number, EPERM, symlink.path,
        "left out: the link leads out of the destination (the receiver takes it with --outside-links)");
  if (has(kDryRun)) return note("would copy", symlink.path);
  const int error = make_symlink(symlink, symlink.path);
  destination_.tree.forget();
  if (error != 0) return failed(symlink.number, error, symlink.path);
  ++finished_.files;
  return {};
}

void Receiver::finish_directories() {
  // inner ones first: writing in a directory changes its time
  for (auto one = directories_.rbegin(); one != directories_.rend(); ++one) {
    const UniqueFd directory = destination_.tree.open_without_links(one->first, O_RDONLY | O_DIRECTORY);
    if (directory) set_attributes(directory.get(), one->second);
  }
}

}  // namespace softrnic::copy
