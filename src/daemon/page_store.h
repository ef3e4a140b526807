// The control pages of all processes, and of those that died lately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/unique_fd.h"
#include "daemon/credentials.h"

namespace softrnic::daemon {

class PageStore {
 public:
  static constexpr std::ptrdiff_t kMostDead = 64;  ///< of a user; the oldest goes first

  struct Page {
    UniqueFd fd;  ///< read-only
    std::int32_t pid = 0;
    std::string comm;
    Credentials credentials;
    std::uint64_t ended_ns = 0;
  };

  /// Keeps the page in `memfd`. Returns its number (from 1, never reused), or 0 when it is not a memfd that
  /// is sealed against shrinking, or of no sensible size.
  std::uint64_t add(UniqueFd memfd, std::int32_t pid, const std::string& comm,
                    const Credentials& credentials);
  /// Its process has ended.
  void ended(std::uint64_t number, std::uint64_t now_ns);
  /// The page with the lowest number above `after` that this reader may see, or nullptr.
  const Page* next(std::uint64_t after, const Credentials& reader, std::uint64_t& number) const;
  std::size_t dead() const { return dead_; }

 private:
  std::map<std::uint64_t, Page> pages_;
  std::uint64_t last_ = 0;
  std::size_t dead_ = 0;
};

}  // namespace softrnic::daemon
