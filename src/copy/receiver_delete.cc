// --delete: what a directory of the source does not have, its copy must not have either.
#include <dirent.h>

#include "base/unique_file.h"
#include "copy/receiver.h"

namespace softrnic::copy {

Result<void> Receiver::find_others(DIR* directory, const std::string& path,
                                   std::vector<std::string>& others) {
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || listed_.contains(name)) continue;
    struct stat info {};
    if (fstatat(dirfd(directory), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        filters_.excludes(join_path(path, name), S_ISDIR(info.st_mode)))
      continue;
    if (const auto held = listed_memory_.add(Budget::cost_of(name)); !held) return held;
    others.push_back(name);
  }
  return {};
}

Result<void> Receiver::remove_others(const std::string& path) {
  // When a part of the source could not be read, nobody knows what it has.
  if (trouble_at_source_) return {};
  UniqueFd fd = destination_.tree.open_without_links(mapped(path), O_RDONLY | O_DIRECTORY);
  if (!fd) return {};  // a directory that is not there has nothing to delete
  const UniqueDirectory entries(fdopendir(fd.get()));
  if (entries == nullptr) return failed(0, errno, path);
  const int directory = fd.release();
  std::vector<std::string> others;
  if (const auto found = find_others(entries.get(), path, others); !found) return found;
  for (const std::string& name : others) {
    const std::string whole = join_path(path, name);
    if (!has(kDryRun) && !remove_all(directory, name)) {
      if (const auto said = failed(0, errno, whole); !said) return said;
      continue;
    }
    ++finished_.deleted;
    if (const auto noted = note(has(kDryRun) ? "would delete" : "deleted", whole); !noted) return noted;
  }
  destination_.tree.forget();
  return {};
}

}  // namespace softrnic::copy
