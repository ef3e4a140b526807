#include "daemon/issm_watch.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace softrnic::daemon {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(5), kLastPause = std::chrono::seconds(2);

std::string file_name(const MadPortName& port) { return "issm-" + port.ca + "-" + std::to_string(port.port); }

/// A new folder with mode 0700; empty: there is no place for one.
std::string make_folder() {
  const char* const runtime = secure_getenv("XDG_RUNTIME_DIR");
  for (const std::string& base :
       {std::string(runtime != nullptr ? runtime : ""), std::string("/run"), std::string("/tmp")}) {
    if (base.empty() || base.front() != '/') continue;
    std::string folder = base + "/softrnicd-XXXXXX";
    if (mkdtemp(folder.data()) != nullptr) return folder;
  }
  return {};
}

}  // namespace

IssmWatch::IssmWatch(Changed changed) : changed_(std::move(changed)), folder_(make_folder()) {
  if (folder_.empty()) return;
  inotify_.reset(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const int watched = inotify_add_watch(inotify_.get(), folder_.c_str(), IN_OPEN | IN_CLOSE);
  if (watched < 0) inotify_.reset();
}

IssmWatch::~IssmWatch() {
  for (const auto& [port, file] : files_) unlink(path_of(port).c_str());
  if (!folder_.empty()) rmdir(folder_.c_str());
}

std::string IssmWatch::path_of(const MadPortName& port) const {
  return (folder_.empty() ? std::string("/nonexistent") : folder_) + "/" + file_name(port);
}

// Its own opening is told as well: so that it counts as none.
void IssmWatch::add(const MadPortName& port) {
  if (!inotify_ || files_.contains(port)) return;
  File file;
  file.fd.reset(
      above_stdio(open(path_of(port).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR)));
  file.opened = -1;
  if (file.fd) files_.emplace(port, std::move(file));
}

void IssmWatch::remove(const MadPortName& port) {
  if (files_.erase(port) != 0) unlink(path_of(port).c_str());
}

// Who is given a lease for writing is alone with the file (fcntl(2)): that holds however many events have
// been merged. Not every file system has leases.
bool IssmWatch::is_open_elsewhere(const File& file) {
  if (fcntl(file.fd.get(), F_SETLEASE, F_WRLCK) == 0) {
    fcntl(file.fd.get(), F_SETLEASE, F_UNLCK);
    return false;
  }
  return errno == EAGAIN || errno == EBUSY || file.opened > 0;
}

void IssmWatch::look_at(const MadPortName& port, File& file) {
  const bool is_sm = is_open_elsewhere(file);
  if (is_sm != std::exchange(file.is_sm, is_sm)) changed_(port, is_sm);
}

// The kernel tells that a file is closed a moment before it is: who is told at once may find it open still.
void IssmWatch::event(const std::string& name, bool is_opened, TimePoint now) {
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [&](const auto& entry) { return file_name(entry.first) == name; });
  if (found == files_.end()) return;
  File& file = found->second;
  file.opened += is_opened ? 1 : -1;
  file.pause = kFirstPause;
  file.looks_again = is_opened ? kNever : now + file.pause;
  look_at(found->first, file);
}

void IssmWatch::progress(TimePoint now) {
  std::array<char, 4096> buffer;
  ssize_t got;
  while ((got = read(inotify_.get(), buffer.data(), buffer.size())) > 0) {
    std::size_t at = 0;
    while (at < static_cast<std::size_t>(got)) {
      inotify_event head;
      std::memcpy(&head, &buffer[at], sizeof head);
      if (head.len > 0) event(&buffer[at + sizeof head], (head.mask & IN_OPEN) != 0, now);
      at += sizeof head + head.len;
    }
  }
}

void IssmWatch::advance(TimePoint now) {
  for (auto& [port, file] : files_) {
    if (file.looks_again > now) continue;
    file.pause *= 4;
    file.looks_again = file.is_sm && file.pause < kLastPause ? now + file.pause : kNever;
    return look_at(port, file);  // what it tells may change the files
  }
}

TimePoint IssmWatch::deadline() const {
  TimePoint earliest = kNever;
  for (const auto& [port, file] : files_) earliest = std::min(earliest, file.looks_again);
  return earliest;
}

}  // namespace softrnic::daemon
