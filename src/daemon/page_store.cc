#include "daemon/page_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace softrnic::daemon {
namespace {

constexpr off_t kMostBytes = 64 << 20;

/// The same file, opened anew so that whoever gets it cannot write.
UniqueFd read_only(const UniqueFd& fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

std::uint64_t PageStore::add(UniqueFd memfd, std::int32_t pid, const std::string& comm) {
  struct stat status {};
  const int seals = fcntl(memfd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(memfd.get(), &status) != 0) return 0;
  if (status.st_size <= 0 || status.st_size > kMostBytes) return 0;
  UniqueFd reading = read_only(memfd);
  pages_[++last_] = {reading ? std::move(reading) : std::move(memfd), pid, comm, 0};
  return last_;
}

void PageStore::ended(std::uint64_t number, std::uint64_t now_ns) {
  const auto it = pages_.find(number);
  if (it == pages_.end() || it->second.ended_ns != 0) return;
  it->second.ended_ns = std::max<std::uint64_t>(now_ns, 1);
  if (++dead_ <= kMostDead) return;
  const auto oldest =
      std::find_if(pages_.begin(), pages_.end(), [](const auto& p) { return p.second.ended_ns != 0; });
  pages_.erase(oldest);
  --dead_;
}

const PageStore::Page* PageStore::next(std::uint64_t after, std::uint64_t& number) const {
  const auto it = pages_.upper_bound(after);
  if (it == pages_.end()) return nullptr;
  number = it->first;
  return &it->second;
}

}  // namespace softrnic::daemon
