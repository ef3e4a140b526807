// Which files there are: the sender's way through its sources.
#include <dirent.h>

#include <algorithm>

#include "base/unique_file.h"
#include "copy/sender.h"

namespace softrnic::copy {
namespace {

constexpr unsigned kMaxSourceDepth = 400;  // each level holds a descriptor while it is read
constexpr std::size_t kListingBytes = 24U << 10;

/// The names in a directory, sorted, as long as `held` lives. 0 or an errno; no memory for them is an error.
Result<int> names_in(UniqueFd directory, std::vector<std::string>& names, Held& held) {
  const UniqueDirectory entries(fdopendir(directory.get()));
  if (entries == nullptr) return errno;
  directory.release();
  errno = 0;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (const auto granted = held.add(Budget::cost_of(name)); !granted) return Unexpected{granted.error()};
    names.push_back(name);
    errno = 0;
  }
  const int error = errno;
  std::sort(names.begin(), names.end());
  return error;
}

bool look_at(const Origin& origin, const std::string& path, bool follow, struct stat& info) {
  if (!origin.is_confined())
    return fstatat(AT_FDCWD, path.c_str(), &info, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0;
  const UniqueFd fd = origin.open(path, O_PATH | (follow ? 0 : O_NOFOLLOW));
  return fd && fstatat(fd.get(), "", &info, AT_EMPTY_PATH) == 0;
}

/// What a source is called at the receiver: its last part; nothing when its contents are meant.
std::string top_name(const std::string& source) {
  const std::string_view last = std::string_view(source).substr(source.rfind('/') + 1);  // npos + 1 is 0
  return last == "." || last == ".." ? std::string() : std::string(last);
}

Result<void> count_below(const Origin& origin, const std::string& path, const struct stat& info,
                         bool recursive, unsigned depth, Budget& memory, Totals& totals) {
  if (S_ISREG(info.st_mode)) {
    ++totals.files;
    totals.bytes += static_cast<std::uint64_t>(info.st_size);
  }
  if (!S_ISDIR(info.st_mode) || !recursive || depth == kMaxSourceDepth) return {};
  std::vector<std::string> names;
  Held held(memory);
  const auto read = names_in(origin.open(path, O_RDONLY | O_DIRECTORY), names, held);
  if (!read) return Unexpected{read.error()};
  if (*read != 0) return {};
  for (const std::string& name : names) {
    struct stat one {};
    const std::string inner = join_path(path, name);
    if (!look_at(origin, inner, false, one)) continue;
    const auto counted = count_below(origin, inner, one, recursive, depth + 1, memory, totals);
    if (!counted) return counted;
  }
  return {};
}

}  // namespace

Result<Totals> count(const Origin& origin, const std::vector<std::string>& sources, bool recursive,
                     Budget& memory) {
  Totals totals;
  for (const std::string& source : sources) {
    struct stat info {};
    if (!look_at(origin, source, true, info)) continue;
    const auto counted = count_below(origin, source, info, recursive, 0, memory, totals);
    if (!counted) return Unexpected{counted.error()};
  }
  return totals;
}

Result<void> Sender::walk_all(const std::vector<std::string>& sources) {
  if (has(kStream) && sources.size() == 1 && sources.front() == "-") return send_stream(STDIN_FILENO);
  for (const std::string& source : sources)
    if (const auto walked = walk_source(source); !walked) return walked;
  return {};
}

Result<void> Sender::walk_source(const std::string& source) {
  struct stat info {};
  // What the user names is followed, unless links are to be kept.
  const bool follow = !has(kPreserve) || source.ends_with('/');
  if (!look_at(origin_, source, follow, info)) return unreadable(source, errno);
  Entry entry{source, top_name(source)};
  if (S_ISDIR(info.st_mode)) {
    if (!has(kRecursive)) return unreadable(source, EISDIR, "it is a directory: -r copies directories");
    return walk_directory(entry, info, 0);
  }
  if (entry.path.empty()) return unreadable(source, ENOTDIR);
  return walk(entry, info, 0);
}

Result<void> Sender::walk(const Entry& entry, const struct stat& info, unsigned depth) {
  if (S_ISREG(info.st_mode)) return offer_or_send(entry, info);
  if (S_ISDIR(info.st_mode)) return walk_directory(entry, info, depth);
  if (S_ISLNK(info.st_mode)) return walk_symlink(entry, info);
  return unreadable(entry.path, 0, "left out: it is neither a file nor a directory nor a symbolic link");
}

Result<void> Sender::walk_symlink(const Entry& entry, const struct stat& info) {
  struct stat target {};
  if (!has(kPreserve)) {
    if (!look_at(origin_, entry.local, true, target)) return unreadable(entry.path, errno);
    if (S_ISREG(target.st_mode)) return offer_or_send(entry, target);
    return unreadable(entry.path, 0, "left out: a symbolic link to a directory (-a keeps links)");
  }
  Symlink symlink;
  symlink.metadata = {static_cast<std::uint32_t>(info.st_mode & 07777), info.st_uid, info.st_gid,
                      info.st_mtim.tv_sec, static_cast<std::uint32_t>(info.st_mtim.tv_nsec)};
  symlink.path = entry.path;
  const UniqueFd link = origin_.open(entry.local, O_PATH | O_NOFOLLOW);
  std::string text(PATH_MAX, '\0');
  const ssize_t length = link ? readlinkat(link.get(), "", text.data(), text.size()) : -1;
  if (length < 0) return unreadable(entry.path, errno);
  symlink.target = text.substr(0, static_cast<std::size_t>(length));
  symlink.number = ++number_;
  return stream_.put(symlink);
}

Result<void> Sender::walk_directory(const Entry& entry, const struct stat& info, unsigned depth) {
  std::vector<std::string> names;
  if (depth == kMaxSourceDepth) return unreadable(entry.path, ELOOP);
  Held held(memory_);
  const auto read = names_in(origin_.open(entry.local, O_RDONLY | O_DIRECTORY), names, held);
  if (!read) return Unexpected{read.error()};
  if (*read != 0) return unreadable(entry.path, *read);
  Directory record;
  record.number = ++number_;
  record.metadata = {static_cast<std::uint32_t>(info.st_mode & 07777), info.st_uid, info.st_gid,
                     info.st_mtim.tv_sec, static_cast<std::uint32_t>(info.st_mtim.tv_nsec)};
  record.path = entry.path;
  if (const auto put = stream_.put(record); !put) return put;
  return walk_children(entry, names, depth);
}

Result<void> Sender::walk_children(const Entry& entry, const std::vector<std::string>& names,
                                   unsigned depth) {
  for (const std::string& name : names) {
    const Entry inner{join_path(entry.local, name), join_path(entry.path, name)};
    struct stat info {};
    if (!look_at(origin_, inner.local, false, info)) {
      if (const auto told = unreadable(inner.path, errno); !told) return told;
      continue;
    }
    if (filters_.excludes(inner.path, S_ISDIR(info.st_mode))) continue;
    if (const auto walked = walk(inner, info, depth + 1); !walked) return walked;
  }
  return has(kDelete) ? list(entry.path, names) : Sent{};
}

Result<void> Sender::list(const std::string& path, const std::vector<std::string>& names) {
  // what is left of earlier runs is deleted too, so it is used before
  if (has(kResume))
    if (const auto settled = settle_offers(); !settled) return settled;
  Listing listing;
  listing.path = path;
  for (const std::string& name : names) {
    listing.names += name;
    listing.names += '\0';
    if (listing.names.size() < kListingBytes) continue;
    if (const auto put = stream_.put(listing); !put) return put;
    listing.names.clear();
  }
  listing.last = 1;
  return stream_.put(listing);
}

}  // namespace softrnic::copy
