#include "control/fabric_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/reason_id.h"

namespace softrnic::control {
namespace {

constexpr std::size_t kMostFabricName = 63;
constexpr std::size_t kMostHostName = 64;  // of fabric::Topology
constexpr std::size_t kMostFileName = 64;  // paths of sockets end at 107 bytes
constexpr std::size_t kChecksumText = 18;
constexpr mode_t kOwn = 0700;

Unexpected<Failure> failed(int error) { return Unexpected{refuse(error, ReasonId::fabric_folder, error)}; }

/// Whether it is a folder, no link, and nobody else's.
bool is_own_folder(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
         (found.st_mode & 077) == 0;
}

bool is_plain(unsigned char c) {
  return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.');
}

/// FNV-1a.
std::uint64_t checksum_of(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char character : text) sum = (sum ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  return sum;
}

std::string file_name_of(std::string_view host) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string file;
  for (const char character : host) {
    const auto c = static_cast<unsigned char>(character);
    if (is_plain(c) && !(c == '.' && file.empty()))
      file += character;
    else
      file += {'%', kDigits[c >> 4], kDigits[c & 0xf]};
  }
  if (file.size() <= kMostFileName) return file;
  char checksum[kChecksumText + 1];
  std::snprintf(checksum, sizeof checksum, "%%%%%016" PRIx64, checksum_of(host));
  return file.substr(0, kMostFileName - kChecksumText) + checksum;
}

}  // namespace

bool valid_fabric_name(std::string_view name) {
  if (name.empty() || name.size() > kMostFabricName || name[0] == '_' || name[0] == '-' || name[0] == '.')
    return false;
  return std::all_of(name.begin(), name.end(), is_plain);
}

bool valid_host_name(std::string_view name) {
  if (name.empty() || name.size() > kMostHostName) return false;
  return std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Expected<HostName, Failure> parse_host_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  const bool has_fabric = slash != std::string_view::npos;
  const HostName name{std::string(has_fabric ? text.substr(0, slash) : kDefaultFabric),
                      std::string(has_fabric ? text.substr(slash + 1) : text)};
  if (!valid_fabric_name(name.fabric) || !valid_host_name(name.host))
    return Unexpected{refuse(EINVAL, ReasonId::fabric_host_name)};
  return name;
}

Expected<std::string, Failure> fabrics_folder(bool make) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string folder = runtime != nullptr && is_own_folder(runtime)
                                 ? std::string(runtime) + "/softrnic"
                                 : "/tmp/softrnic-" + std::to_string(geteuid());
  if (make && mkdir(folder.c_str(), kOwn) != 0 && errno != EEXIST) return failed(errno);
  struct stat found {};
  if (lstat(folder.c_str(), &found) != 0) return failed(errno);
  if (!is_own_folder(folder)) return failed(EACCES);
  return folder;
}

std::string command_socket(const std::string& folder, const std::string& fabric) {
  return folder + "/" + fabric + "/.commands";
}

std::string host_socket(const std::string& folder, const HostName& name) {
  return folder + "/" + name.fabric + "/" + file_name_of(name.host);
}

// Whoever has had the folder may have removed it between open() and flock().
Expected<FabricFolder, Failure> FabricFolder::claim(const std::string& folder, const std::string& fabric) {
  constexpr int kClaimAttempts = 8;
  FabricFolder claimed;
  claimed.path_ = folder + "/" + fabric;
  const char* const path = claimed.path_.c_str();
  for (int attempt = 0; attempt < kClaimAttempts; ++attempt) {
    if (mkdir(path, kOwn) != 0 && errno != EEXIST) return failed(errno);
    UniqueFd fd(above_stdio(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
    if (!fd && errno == ENOENT) continue;
    if (!fd) return failed(errno);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return failed(errno == EWOULDBLOCK ? EADDRINUSE : errno);
    claimed.fd_ = std::move(fd);
    if (claimed.is_at(claimed.path_)) return claimed;
  }
  return failed(EADDRINUSE);
}

void FabricFolder::wait_until_left(const std::string& folder, const std::string& fabric) {
  const UniqueFd fd(open((folder + "/" + fabric).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  while (fd && flock(fd.get(), LOCK_SH) != 0 && errno == EINTR) {
  }
}

FabricFolder& FabricFolder::operator=(FabricFolder&& other) noexcept {
  if (this == &other) return *this;
  leave();
  fd_ = std::move(other.fd_);
  path_ = std::move(other.path_);
  return *this;
}

bool FabricFolder::is_at(const std::string& path) const {
  struct stat here {
  }, there{};
  return fstat(fd_.get(), &here) == 0 && lstat(path.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

// Removed while it is locked: nobody has begun to use it.
void FabricFolder::leave() {
  if (fd_ && is_at(path_)) rmdir(path_.c_str());
  fd_.reset();
}

}  // namespace softrnic::control
