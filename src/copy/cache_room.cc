#include "copy/cache_room.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace softrnic::copy {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// Where the two versions of control groups keep their figures. Pages of tmpfs count as
/// cache, but cannot be given up.
struct Hierarchy {
  const char* controllers;  ///< as in /proc/self/cgroup
  const char *mount, *limit, *usage, *cache, *shared;
};
constexpr Hierarchy kHierarchies[] = {{"", "/sys/fs/cgroup", "memory.max", "memory.current", "file", "shmem"},
                                      {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                       "memory.usage_in_bytes", "total_cache", "total_shmem"}};

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

/// The first word of the file, as a number; nothing when it is none ("max").
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  return file >> word ? number_of(word) : std::nullopt;
}

/// The number behind the word `name`.
std::optional<std::uint64_t> number_of(const std::string& name, const std::string& path) {
  std::ifstream file(path);
  for (std::string line, word, value; std::getline(file, line);) {
    std::istringstream words(line);
    if (words >> word >> value && word == name) return number_of(value);
  }
  return std::nullopt;
}

std::uint64_t less(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

std::uint64_t room_in_group(const Hierarchy& hierarchy, const std::string& folder) {
  const auto limit = number_in(folder + "/" + hierarchy.limit);
  const auto usage = number_in(folder + "/" + hierarchy.usage);
  if (!limit || !usage) return kNoLimit;
  const std::string statistics = folder + "/memory.stat";
  const std::uint64_t given_up = less(number_of(hierarchy.cache, statistics).value_or(0),
                                      number_of(hierarchy.shared, statistics).value_or(0));
  return less(*limit, less(*usage, given_up));
}

/// Of the group and those that it stands in. A container may see its own group alone, as the root, and be
/// told a path that it does not see.
std::uint64_t room_in_groups(const Hierarchy& hierarchy, const std::string& root, std::string path) {
  std::uint64_t room = kNoLimit;
  for (;;) {
    room = std::min(room, room_in_group(hierarchy, root + hierarchy.mount + path));
    if (path.empty()) return room;
    path.erase(path.rfind('/'));
  }
}

bool names(const std::string& list, const std::string& controller) {
  return controller.empty() ? list.empty()
                            : ("," + list + ",").find("," + controller + ",") != std::string::npos;
}

}  // namespace

std::uint64_t room_in_page_cache(const std::string& root) {
  const auto available = number_of("MemAvailable:", root + "/proc/meminfo");
  std::uint64_t room = available ? *available * 1024 : kNoLimit;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:/path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || line.substr(second + 1, 1) != "/") continue;
    const std::string path = line.substr(second + 1);
    for (const Hierarchy& one : kHierarchies)
      if (names(line.substr(first + 1, second - first - 1), one.controllers))
        room = std::min(room, room_in_groups(one, root, path == "/" ? "" : path));
  }
  return room;
}

}  // namespace softrnic::copy
