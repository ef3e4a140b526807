// How many lanes share the receive buffer of this one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "wire/gid.h"

namespace softrnic::flow {

/// The lanes that have lately asked for room.
class BufferSharers {
 public:
  /// More are not told apart: their parts would be smaller than what a sender needs to make progress.
  static constexpr std::size_t kMost = 64;
  /// Who has not asked for so long is not counted any more.
  static constexpr Duration kLately = std::chrono::seconds(1);

  struct Lane {
    wire::Gid address;
    std::uint8_t number;
    bool operator==(const Lane&) const = default;
  };

  /// `lane` asks: how many have lately, itself included.
  std::uint32_t count(const Lane& lane, TimePoint now);

 private:
  struct Sharer {
    Lane lane;
    TimePoint asked;
  };
  std::vector<Sharer> sharers_;
};

}  // namespace softrnic::flow
