// What a SEND to a tag matching SRQ says of itself: the TMH and RVH at its beginning (infiniband/tm_types.h,
// rdma-core's Documentation/tag_matching.md). A peer writes them, so nothing in them is believed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/strong.h"
#include "rnic/limits.h"

namespace softrnic::rnic {

struct TagMessage {
  enum class Kind : std::uint8_t {
    untagged,    ///< for the program as it is: NO_TAG, FIN, an unknown opcode, or a TMH that is cut
    tagged,      ///< has a tag and cannot be matched: a request for rendezvous that is cut, or too long
    eager,       ///< TMH, and the payload
    rendezvous,  ///< TMH, RVH, and something for the program if nothing matches
  };
  static constexpr std::uint32_t kEagerHeader = 16;       ///< bytes of the TMH
  static constexpr std::uint32_t kRendezvousHeader = 32;  ///< and of the RVH
  /// Bytes at the beginning of a message that parse() wants to see.
  static constexpr std::size_t kLookahead = kRendezvousHeader;
  using Headers = std::array<std::byte, kRendezvousHeader>;

  Kind kind = Kind::untagged;
  bool whole = false;         ///< the message has one packet
  std::uint64_t tag = 0;      ///< unless untagged
  std::uint32_t app_ctx = 0;  ///< the same: for the program
  std::uint64_t address = 0;  ///< rendezvous: of the payload in the peer's memory
  MemoryKey rkey;             ///< rendezvous
  std::uint32_t length = 0;   ///< rendezvous: of the payload
  Headers headers{};          ///< rendezvous: TMH and RVH as they came

  /// `first`: the first bytes of a message whose first packet has `size` of them, and is all of it if
  /// `whole`.
  static TagMessage parse(Bytes first, std::size_t size, bool whole);
};

/// What tells the peer of a message in rendezvous that its payload was fetched: its own headers with another
/// opcode.
TagMessage::Headers fin_of(const TagMessage& message);

}  // namespace softrnic::rnic
