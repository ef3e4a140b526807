// The way that the last direct message of a queue pair went. The next one that goes to the same region
// takes it again after a look at the few words that tell whether what was found then still holds, instead
// of looking everything up.
#pragma once

#include <cstdint>

#include "base/strong.h"
#include "samehost/direct_layout.h"
#include "samehost/remote_memory.h"

namespace softrnic::samehost {

/// Guarded by the lane's lock.
struct DirectRoute {
  /// Of the DirectPath: its local peers and what is mapped of them are the same; 0: no route
  std::uint64_t epoch = 0;
  const DirectQp* qp = nullptr;
  const DirectKey* published = nullptr;  ///< what the peer says of the key
  const RemoteMemory* memory = nullptr;
  std::uint64_t start = 0;  ///< of what is reached so, as the peer names it
  std::uint64_t length = 0;
  std::uint64_t shift = 0;       ///< added to that: the address in `memory`
  std::uint32_t generation = 0;  ///< of the queue pair: DirectQp::open
  std::uint32_t version = 0;     ///< of the key: its sequence
  MemoryKey key;
  std::uint32_t access = 0;  ///< what region and queue pair allow
  bool mapped = false;

  bool holds(std::uint64_t address, std::uint64_t bytes) const {
    const std::uint64_t into = address - start;  // huge when address < start
    return into < length && bytes <= length - into;
  }
};

}  // namespace softrnic::samehost
