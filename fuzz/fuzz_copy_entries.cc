// Input: what a hostile sender announces to the receiver of a copy: entries, offers, files, listings, in any
// order. What the guard lets through is what the job can mean, by a simpler account that remembers
// everything.
#include <map>
#include <set>

#include "copy/entry_guard.h"
#include "copy/tree.h"
#include "fuzz/check.h"

using namespace softrnic;
using namespace softrnic::copy;

namespace {

constexpr std::uint32_t kFlags[] = {kRecursive, kPreserve, kDelete, kUpdate, kResume, kDryRun, kStream};
const std::vector<std::string> kSources = {"a", "b/", "dir/a"};  // "a" twice, and the contents of a directory

/// Up to 7 characters of few, so that paths meet.
std::string path_from(fuzz::Input& input) {
  static constexpr char kCharacters[] = {'a', 'b', 'x', '/', '/', '.', 'a', '\0'};
  std::uint32_t bits = input.take<std::uint32_t>();
  std::string path;
  for (std::uint32_t left = bits & 7; left > 0; --left) path += kCharacters[(bits >>= 3) & 7];
  return path;
}

/// A path of `ups` times ".." and names leads out of a directory as soon as it has gone up more than down.
bool climbs_out(const std::string& path, const std::string& target) {
  std::ptrdiff_t level = std::count(path.begin(), path.end(), '/');
  for (std::size_t at = 0; at <= target.size();) {
    const std::size_t end = std::min(target.find('/', at), target.size());
    const std::string part = target.substr(at, end - at);
    if (part == "..") --level;
    if (!part.empty() && part != "." && part != "..") ++level;
    if (level < 0) return true;
    at = end + 1;
  }
  return false;
}

class Account {
 public:
  Account(std::uint32_t flags, bool download) : flags_(flags), download_(download) {
    filters_.add({0, "x"});
    guard_.emplace(flags, filters_, download ? std::optional(kSources) : std::nullopt);
  }

  /// False when the copy has come to its end.
  bool step(fuzz::Input& input) {
    const auto action = input.take<std::uint8_t>();
    const std::string path = path_from(input);
    switch (action % 6) {
      case 0:
        return announce(EntryKind::directory, path);
      case 1:
        check_link(path, path_from(input));
        return announce(EntryKind::symlink, path);
      case 2:
        return file(path, (action & 0x80) != 0);
      case 3:
        return offer(path, action >> 4 & 3);
      case 4:
        guard_->wanted_again(path);
        ++wanted_[path];
        return true;
      default:
        return listing(path, (action & 0x80) != 0);
    }
  }

 private:
  bool has(std::uint32_t flag) const { return (flags_ & flag) != 0; }
  bool negotiated() const { return has(kUpdate | kResume | kDryRun) && (download_ || !has(kStream)); }

  bool announce(EntryKind kind, const std::string& path) {
    if (!guard_->announce(kind, path)) return false;
    check_entry(kind, path);
    return true;
  }

  void check_entry(EntryKind kind, const std::string& path) {
    FUZZ_CHECK(is_clean_path(path));
    FUZZ_CHECK(kind != EntryKind::directory || has(kRecursive));
    FUZZ_CHECK(kind != EntryKind::symlink || has(kPreserve));
    const std::string folder = split_path(path).first;
    FUZZ_CHECK(folder.empty() || directories_.contains(folder));
    if (!folder.empty()) FUZZ_CHECK(!filters_.excludes(path, kind == EntryKind::directory));
    if (download_) {
      FUZZ_CHECK(path.starts_with("a") || directories_.contains("") || path.empty());
      FUZZ_CHECK(++times_[path] <= kSources.size());
    }
    if (kind == EntryKind::directory) directories_.insert(path);
  }

  bool file(const std::string& path, bool continued) {
    if (!guard_->file(path, continued)) return false;
    if (negotiated())
      FUZZ_CHECK(wanted_[path]-- > 0);
    else
      check_entry(EntryKind::file, path);
    FUZZ_CHECK(!continued || has_part_.contains(path));
    return true;
  }

  bool offer(const std::string& path, unsigned have) {
    if (!guard_->offered(++offers_, path)) return false;
    FUZZ_CHECK(negotiated());
    check_entry(EntryKind::file, path);
    if (have == 3) return true;  // it is not wanted
    guard_->accepted(have);
    ++wanted_[path];
    if (have != 0) has_part_.insert(path);
    return true;
  }

  bool listing(const std::string& path, bool last) {
    if (!guard_->listing(path, last)) return false;
    FUZZ_CHECK(has(kDelete) && directories_.contains(path));
    return true;
  }

  static void check_link(const std::string& path, const std::string& target) {
    if (is_clean_path(path) && !leads_out(path, target))
      FUZZ_CHECK(!target.starts_with('/') && !climbs_out(path, target));
  }

  std::uint32_t flags_;
  bool download_;
  FilterList filters_;
  std::optional<EntryGuard> guard_;
  std::uint64_t offers_ = 0;
  std::set<std::string> directories_, has_part_;
  std::map<std::string, std::uint64_t> times_, wanted_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const auto chosen = input.take<std::uint8_t>();
  std::uint32_t flags = 0;
  for (std::size_t i = 0; i < std::size(kFlags); ++i)
    if ((chosen >> i & 1) != 0) flags |= kFlags[i];
  Account account(flags, (chosen & 0x80) == 0);
  while (!input.empty() && account.step(input)) continue;
  return 0;
}
