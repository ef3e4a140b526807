#include "cli/system_libraries.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "base/argument_pointers.h"
#include "base/unique_fd.h"

namespace softrnic::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderOfFiles = "etc/ld.so.conf.d";
constexpr const char* kFile = "00-softrnic.conf";

/// How `ldconfig -p` marks libraries of this program's own kind; empty: take all.
#if defined(__x86_64__)
constexpr std::string_view kKind = ",x86-64";
#elif defined(__aarch64__)
constexpr std::string_view kKind = ",AArch64";
#else
constexpr std::string_view kKind = "";
#endif

std::string read_all(int fd) {
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t got = read(fd, part, sizeof part);
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) return text;
  }
}

/// What ldconfig(8) prints. Its own messages go to stderr.
Expected<std::string, std::string> run_ldconfig(const LoaderPlace& place,
                                                const std::vector<std::string>& options) {
  std::vector<std::string> words = {"ldconfig"};
  if (place.root != "/") words.insert(words.end(), {"-r", place.root.string()});
  words.insert(words.end(), options.begin(), options.end());
  const std::vector<char*> arguments = argument_pointers(words);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Unexpected{std::string(std::strerror(errno))};
  UniqueFd reading(ends[0]), writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/sbin/ldconfig", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  writing.reset();
  if (error != 0) return Unexpected{fmt::format("/sbin/ldconfig: {}", std::strerror(error))};
  std::string text = read_all(reading.get());
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return Unexpected{std::string("ldconfig failed")};
  return text;
}

/// "lib….so.N", the names that programs ask for.
bool is_soname(const std::string& name) {
  const std::size_t at = name.rfind(".so.");
  return name.starts_with("lib") && at != std::string::npos && at + 4 < name.size() &&
         name.find_first_not_of("0123456789", at + 4) == std::string::npos;
}

std::set<std::string> own_names(const LoaderPlace& place) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place.root / place.libraries.relative_path(), error))
    if (const std::string name = entry.path().filename(); is_soname(name)) names.insert(name);
  return names;
}

/// The path of a line "\tNAME (libc6,x86-64) => PATH" when it is of that name.
std::string path_in(std::string_view line, std::string_view name) {
  constexpr std::string_view kArrow = " => ";
  const std::size_t arrow = line.find(kArrow);
  if (arrow == std::string_view::npos || !line.starts_with("\t" + std::string(name) + " (")) return {};
  if (line.substr(0, arrow).find(kKind) == std::string_view::npos) return {};
  return std::string(line.substr(arrow + kArrow.size()));
}

/// The file of ld.so.conf.d that names `folder`: the first of them, as the loader takes it.
std::string decider_of(const LoaderPlace& place, const fs::path& folder) {
  std::set<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place.root / kFolderOfFiles, error))
    if (entry.path().extension() == ".conf") files.insert(entry.path());
  for (const fs::path& file : files) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);)
      if (line == folder.string()) return fs::path("/") / kFolderOfFiles / file.filename();
  }
  return {};
}

LoadedLibrary find_in(const std::string& cache, const std::string& name, const LoaderPlace& place) {
  LoadedLibrary found{name, {}, {}, false};
  std::istringstream lines(cache);
  for (std::string line; found.path.empty() && std::getline(lines, line);) found.path = path_in(line, name);
  if (found.path.empty()) return found;
  const fs::path folder = fs::path(found.path).parent_path();
  found.ours = folder == place.libraries;
  found.decider = decider_of(place, folder);
  return found;
}

std::string failed(const fs::path& path, std::string_view what) {
  return fmt::format("{}: {}", path.string(), what);
}

/// Programs of all users, root's too, are to load from here: nobody else may write it, and all may read it.
Expected<void, std::string> fit_for_all(const LoaderPlace& place) {
  fs::path path = place.root;
  std::vector<fs::path> paths;
  for (const fs::path& part : place.libraries.relative_path()) paths.push_back(path /= part);
  for (const std::string& name : own_names(place)) paths.push_back(path / name);
  for (const fs::path& each : paths) {
    struct stat found {};
    if (stat(each.c_str(), &found) != 0) return Unexpected{failed(each, std::strerror(errno))};
    const bool others_write = (found.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (found.st_uid != place.owner || others_write)
      return Unexpected{failed(each, "others than root can change it, so it is not for all programs")};
    const mode_t needed = S_ISDIR(found.st_mode) ? S_IXOTH : S_IROTH;
    if ((found.st_mode & needed) == 0)
      return Unexpected{failed(each, "not everybody can read it, so it is not for all programs")};
  }
  return {};
}

Expected<void, std::string> write_file(const LoaderPlace& place) {
  const fs::path path = loader_file(place);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  {
    std::ofstream file(path, std::ios::trunc);
    file << "# softrnic system disable removes this file.\n"
         << place.libraries.string() << '\n'
         << std::flush;
    if (!file) return Unexpected{failed(path, std::strerror(errno))};
  }
  // whatever umask the caller has: the loader of everybody reads it
  if (chmod(path.c_str(), 0644) != 0) return Unexpected{failed(path, std::strerror(errno))};
  return {};
}

/// Success when all programs get ours.
Expected<void, std::string> all_ours(const LoaderPlace& place) {
  const auto libraries = loaded_libraries(place);
  if (!libraries) return Unexpected{libraries.error()};
  for (const LoadedLibrary& each : *libraries)
    if (!each.ours)
      return Unexpected{fmt::format("programs would get {} still, by {}", each.path,
                                    each.decider.empty() ? "/etc/ld.so.conf" : each.decider)};
  return {};
}

Expected<void, std::string> write_and_look(const LoaderPlace& place) {
  if (auto written = write_file(place); !written) return written;
  if (const auto ran = run_ldconfig(place, {}); !ran) return Unexpected{ran.error()};
  return all_ours(place);
}

}  // namespace

fs::path loader_file(const LoaderPlace& place) { return place.root / kFolderOfFiles / kFile; }

Expected<std::vector<LoadedLibrary>, std::string> loaded_libraries(const LoaderPlace& place) {
  const auto cache = run_ldconfig(place, {"-p"});
  if (!cache) return Unexpected{cache.error()};
  std::vector<LoadedLibrary> libraries;
  for (const std::string& name : own_names(place)) libraries.push_back(find_in(*cache, name, place));
  return libraries;
}

Expected<void, std::string> enable_for_all(const LoaderPlace& place) {
  if (auto fit = fit_for_all(place); !fit) return fit;
  auto done = write_and_look(place);
  if (!done) static_cast<void>(disable_for_all(place));
  return done;
}

Expected<void, std::string> disable_for_all(const LoaderPlace& place) {
  const fs::path path = loader_file(place);
  if (unlink(path.c_str()) != 0) {
    if (errno == ENOENT) return {};
    return Unexpected{failed(path, std::strerror(errno))};
  }
  const auto ran = run_ldconfig(place, {});
  if (!ran) return Unexpected{ran.error()};
  return {};
}

}  // namespace softrnic::cli
