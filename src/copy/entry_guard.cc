#include "copy/entry_guard.h"

#include <algorithm>

#include "copy/tree.h"

namespace softrnic::copy {
namespace {

Unexpected<Error> refused(const std::string& path, const char* why) {
  return fail(Trouble::protocol, "the peer sent '" + path + "', " + why);
}

/// How a server names the source `written` to its receiver; empty: its contents. Nothing when it refuses to.
std::optional<std::string> name_of_source(const std::string& written) {
  std::string path;
  if (!clean_path(written, path)) return std::nullopt;
  return written.ends_with('/') ? std::string() : split_path(path).second;
}

}  // namespace

EntryGuard::EntryGuard(std::uint32_t job_flags, const FilterList& filters,
                       const std::optional<std::vector<std::string>>& sources)
    : flags_(job_flags),
      filters_(filters),
      // standard input is sent without an offer; a server that sends has none
      negotiated_((job_flags & (kUpdate | kResume | kDryRun)) != 0 &&
                  (sources || (job_flags & kStream) == 0)) {
  if (!sources) return;
  sources_.emplace();
  for (const std::string& source : *sources)
    if (auto name = name_of_source(source)) sources_->push_back(std::move(*name));
}

Result<void> EntryGuard::announce(EntryKind kind, const std::string& path) {
  if (!is_clean_path(path)) return refused(path, "which is no path beneath the destination");
  if (kind == EntryKind::directory && !has(kRecursive)) return refused(path, "a directory, without -r");
  if (kind == EntryKind::symlink && !has(kPreserve)) return refused(path, "a symbolic link, without -a");
  if (path.empty() && kind != EntryKind::directory) return refused(path, "which is no name");
  const auto [folder, name] = split_path(path);
  const bool child = !path.empty() && level_of(folder) != nullptr && name > levels_.back().last;
  if (!child && !folder.empty())
    return refused(path, "twice, out of order, or in a directory that it did not send");
  auto entered = child ? enter_child(kind, path, name) : enter_source(path);
  if (entered && kind == EntryKind::directory) levels_.push_back({path, {}});
  return entered;
}

/// Where the walk is in `folder`, it has come out of the directories beneath.
EntryGuard::Level* EntryGuard::level_of(const std::string& folder) {
  const auto at = std::find_if(levels_.begin(), levels_.end(),
                               [&folder](const Level& level) { return level.path == folder; });
  if (at == levels_.end()) return nullptr;
  levels_.erase(at + 1, levels_.end());
  return &*at;
}

Result<void> EntryGuard::enter_child(EntryKind kind, const std::string& path, const std::string& name) {
  if (filters_.excludes(path, kind == EntryKind::directory)) return refused(path, "which is excluded");
  levels_.back().last = name;
  return {};
}

/// A source may be missing, as the sender could not read it; none comes twice.
Result<void> EntryGuard::enter_source(const std::string& name) {
  levels_.clear();
  if (!sources_) {
    // one file comes out of a pipe
    if (has(kStream) && next_source_++ != 0) return refused(name, "a second file for a pipe");
    return {};
  }
  const auto from = sources_->begin() + static_cast<std::ptrdiff_t>(next_source_);
  const auto source = std::find(from, sources_->end(), name);
  if (source == sources_->end()) return refused(name, "which was not asked for");
  next_source_ = static_cast<std::size_t>(source - sources_->begin()) + 1;
  return {};
}

Result<void> EntryGuard::offered(std::uint64_t number, const std::string& path) {
  if (!negotiated_ || number != offers_ + 1) return refused(path, "an offer that has no place here");
  if (const auto announced = announce(EntryKind::file, path); !announced) return announced;
  ++offers_;
  offered_ = path;
  // A sender that makes this offer has settled those so far back, some of them by saying that it cannot read
  // the file.
  while (!wanted_.empty() && wanted_.front().number + kMostOffered <= number) wanted_.pop_front();
  return {};
}

void EntryGuard::accepted(std::uint64_t have) { wanted_.push_back({offers_, std::move(offered_), have}); }

void EntryGuard::wanted_again(const std::string& path) { again_.push_back({0, path, 0}); }

/// Files come in the order of their offers; those that the sender could not read after all are passed over.
bool EntryGuard::take(std::deque<Wanted>& from, const std::string& path, Wanted& taken) {
  const auto one =
      std::find_if(from.begin(), from.end(), [&path](const Wanted& wanted) { return wanted.path == path; });
  if (one == from.end()) return false;
  taken = *one;
  from.erase(from.begin(), one + 1);
  return true;
}

Result<void> EntryGuard::file(const std::string& path, bool continued) {
  Wanted wanted;
  if (negotiated_) {
    if (!take(wanted_, path, wanted) && !take(again_, path, wanted))
      return refused(path, "which was not offered and wanted");
  } else if (const auto announced = announce(EntryKind::file, path); !announced) {
    return announced;
  }
  return continued && wanted.have == 0 ? refused(path, "to go on with, without --resume") : Result<void>{};
}

Result<void> EntryGuard::listing(const std::string& path, bool last) {
  if (!has(kDelete) || level_of(path) == nullptr)
    return refused(path, "a listing of a directory that it did not send");
  if (last) levels_.pop_back();
  return {};
}

bool leads_out(const std::string& path, const std::string& target) {
  if (target.starts_with('/')) return true;
  auto levels = std::count(path.begin(), path.end(), '/');
  bool descended = false;
  for (std::string_view rest = target; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    if (part == ".." && (descended || levels-- == 0)) return true;
    descended = descended || (!part.empty() && part != "." && part != "..");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace softrnic::copy
