// What a sender may announce: entries that the job can mean, in the order in which a walk comes upon them,
// each once. The receiver decides that by itself, whatever the sender says (the class of CVE-2019-6111): so a
// server writes at a client nothing that was not asked for.
//
// A walk tells of a directory before its entries, of these in ascending order of their bytes, and of one
// directory behind the other. Where it stands is therefore all that has to be remembered: a path for each
// level.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "copy/error.h"
#include "copy/filter_list.h"

namespace softrnic::copy {

enum class EntryKind : std::uint8_t { directory, symlink, file };

/// Refusals are of Trouble::protocol: an honest sender gives no reason for one.
class EntryGuard {
 public:
  /// `sources`: what this side has asked for (a download), in its order. None: the sender chooses what it
  /// sends (an upload), but not what the job does not want.
  EntryGuard(std::uint32_t job_flags, const FilterList& filters,
             const std::optional<std::vector<std::string>>& sources);

  Result<void> announce(EntryKind kind, const std::string& path);

  /// An offered file: `number` counts up from 1.
  Result<void> offered(std::uint64_t number, const std::string& path);
  /// The offer that came last was answered with "send it", telling that `have` bytes are there.
  void accepted(std::uint64_t have);
  /// The part of `path` was another's: it may come once more.
  void wanted_again(const std::string& path);
  /// A file begins; `continued`: the sender goes on with what is there.
  Result<void> file(const std::string& path, bool continued);

  /// The entries of the directory `path` have all been told of (--delete).
  Result<void> listing(const std::string& path, bool last);

 private:
  struct Level {  ///< a directory that the walk is in
    std::string path, last;
  };
  struct Wanted {
    std::uint64_t number = 0;
    std::string path;
    std::uint64_t have = 0;
  };

  bool has(std::uint32_t flag) const { return (flags_ & flag) != 0; }
  Result<void> enter_source(const std::string& name);
  Result<void> enter_child(EntryKind kind, const std::string& path, const std::string& name);
  Level* level_of(const std::string& folder);
  static bool take(std::deque<Wanted>& from, const std::string& path, Wanted& taken);

  std::uint32_t flags_;
  const FilterList& filters_;
  bool negotiated_;                                  ///< files are offered first
  std::optional<std::vector<std::string>> sources_;  ///< their names here; empty: the contents of a directory
  std::size_t next_source_ = 0;
  std::vector<Level> levels_;  ///< from the outermost
  std::uint64_t offers_ = 0;
  std::string offered_;  ///< last
  std::deque<Wanted> wanted_, again_;
};

/// Whether a symbolic link at `path` (clean, beneath a directory) leads out of that directory. `..` counts at
/// the beginning of a target alone: behind another link it leads anywhere.
bool leads_out(const std::string& path, const std::string& target);

}  // namespace softrnic::copy
