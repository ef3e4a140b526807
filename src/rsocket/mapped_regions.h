// Memory of the program that riomap(3) has shown to the peer.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "rsocket/endpoint.h"
#include "rsocket/messages.h"
#include "rsocket/result.h"

namespace softrnic::rsocket {

/// Those of a socket, whose lock guards them.
class MappedRegions {
 public:
  struct Region {
    RegionPtr memory;
    std::uint64_t offset = 0;
    std::optional<std::uint16_t> row;  ///< of the peer's table, if the peer may write
    bool told = false;

    /// What the peer's table is to say.
    Mapping mapping() const;
  };

  /// Registers the memory with `domain`. With `rows`, the size of the peer's table, it takes one of them, and
  /// the peer may write. `offset` -1: its address. Returns the offset. ENOMEM: no row is free; else as
  /// ibv_reg_mr(3).
  Result<off_t> add(ibv_pd* domain, void* address, std::size_t length, off_t offset,
                    std::optional<std::size_t> rows);
  /// EINVAL: nothing is mapped so.
  Result<void> remove(const void* address, std::size_t length);
  /// One that the peer was not told of; nullptr: there is none.
  Region* untold();

 private:
  std::optional<std::uint16_t> free_row(std::size_t rows) const;

  std::list<Region> regions_;
};

}  // namespace softrnic::rsocket
