// The streams of a process that have ended, for whoever has to be told and may take long (the daemon): lanes
// add them, one thread takes them.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/unique_fd.h"

namespace softrnic::engine {

/// Thread-safe. Its lock is a leaf.
class StreamEnds {
 public:
  StreamEnds() = default;
  StreamEnds(const StreamEnds&) = delete;
  StreamEnds& operator=(const StreamEnds&) = delete;

  /// Before all else, once or more. False: descriptors ran out (errno).
  bool open();

  /// One more stream begins: room is made, so that its end needs no memory.
  void expect();
  /// It did not: takes that back.
  void unexpect();
  /// It has ended: takes back one expect().
  void add(std::uint64_t token);

  /// Readable while there are tokens.
  int fd() const { return event_.get(); }
  /// The first of them, in their order; how many.
  std::size_t take(std::span<std::uint64_t> out);

 private:
  UniqueFd event_;
  std::mutex mutex_;
  std::size_t expected_ = 0;
  std::vector<std::uint64_t> tokens_;
};

}  // namespace softrnic::engine
