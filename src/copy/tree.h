// Paths that cannot leave a directory: the kernel resolves them beneath it (openat2, Linux 5.6), whatever
// they say and whatever symbolic links lie on the way.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "copy/error.h"

namespace softrnic::copy {

/// Whether `path` is a relative path of real names: parts of 1 to 255 bytes other than "." and "..", no '\0'.
/// The empty path is the directory itself.
bool is_clean_path(std::string_view path);

/// What a person writes, as a clean path: "/a//b/./c/" → "a/b/c". False when it has "..".
bool clean_path(std::string_view written, std::string& path);

/// Everything but the last part, and the last part.
std::pair<std::string, std::string> split_path(const std::string& path);
std::string join_path(const std::string& a, const std::string& b);

class Tree {
 public:
  Tree() = default;
  /// The directory `path` of this process's own view: symbolic links are followed.
  static Result<Tree> open(const std::string& path);

  /// Opens what `path` (clean) leads to, never outside. Symbolic links are followed as long as they stay
  /// inside, unless `flags` has O_NOFOLLOW (last part). -1 and errno.
  UniqueFd open_at(const std::string& path, int flags, mode_t mode = 0) const;
  /// The same for what a peer names: symbolic links are not followed, whoever put them there and whenever.
  UniqueFd open_without_links(const std::string& path, int flags) const;
  /// The subdirectory as a tree of its own.
  Result<Tree> sub(const std::string& path) const;
  /// Where the last part of `path` is, without following links: the descriptor stays good until the next
  /// call. -1 and errno.
  int parent_of(const std::string& path, std::string& name);
  /// Forgets which directory was the last: it may have been replaced.
  void forget() { parent_ = UniqueFd(), parent_path_.clear(); }
  int fd() const { return root_.get(); }

 private:
  UniqueFd resolve(const std::string& path, int flags, mode_t mode, std::uint64_t rules) const;

  UniqueFd root_, parent_;
  std::string parent_path_;
};

/// Opens or makes a file that is nobody else's: regular, this user's, of one name. Else invalid and errno
/// (EPERM); so what another process put in its place (a link, a pipe, a second name of another file) is
/// neither read nor written.
UniqueFd open_own(int directory, const std::string& name, int flags, mode_t mode = 0);

/// Removes `name` in `directory`, with all that is in it; symbolic links are not followed. False and errno.
bool remove_all(int directory, const std::string& name, unsigned depth = 0);

}  // namespace softrnic::copy
