#include "daemon/page_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "control/shared_memory.h"

namespace softrnic::daemon {
namespace {

constexpr off_t kMostBytes = 64 << 20;

/// The same file, opened anew so that whoever gets it cannot write.
UniqueFd read_only(const UniqueFd& fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

std::uint64_t PageStore::add(UniqueFd memfd, std::int32_t pid, const std::string& comm,
                             const Credentials& credentials) {
  struct stat status {};
  if (!control::is_shared_memory(memfd.get(), 1) || fstat(memfd.get(), &status) != 0) return 0;
  if (status.st_size > kMostBytes) return 0;
  UniqueFd reading = read_only(memfd);
  pages_[++last_] = {reading ? std::move(reading) : std::move(memfd), pid, comm, credentials, 0};
  return last_;
}

void PageStore::ended(std::uint64_t number, std::uint64_t now_ns) {
  const auto it = pages_.find(number);
  if (it == pages_.end() || it->second.ended_ns != 0) return;
  it->second.ended_ns = std::max<std::uint64_t>(now_ns, 1);
  ++dead_;
  const uid_t user = it->second.credentials.user();
  const auto is_dead = [user](const auto& p) {
    return p.second.ended_ns != 0 && p.second.credentials.user() == user;
  };
  if (std::count_if(pages_.begin(), pages_.end(), is_dead) <= kMostDead) return;
  pages_.erase(std::find_if(pages_.begin(), pages_.end(), is_dead));
  --dead_;
}

const PageStore::Page* PageStore::next(std::uint64_t after, const Credentials& reader,
                                       std::uint64_t& number) const {
  for (auto it = pages_.upper_bound(after); it != pages_.end(); ++it) {
    if (!reader.may_attach_to(it->second.credentials)) continue;
    number = it->first;
    return &it->second;
  }
  return nullptr;
}

}  // namespace softrnic::daemon
