// Which VL of a port sends next (IBTA 7.6.9): VL15, then the high-priority table up to its limit, then the
// low one; in a table by weights.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "fabric/types.h"

namespace softrnic::fabric {

/// An entry of a VL arbitration table. One of weight 0 is skipped.
struct VlWeight {
  std::uint8_t vl = 0;
  std::uint8_t weight = 0;  ///< in 64 bytes
};

class VlArbiter {
 public:
  static constexpr std::size_t kEntries = 64;      ///< the longest table
  static constexpr std::uint8_t kUnlimited = 255;  ///< the high table may starve the low one

  /// Until a subnet manager sets tables, all data VLs are equal.
  VlArbiter();

  /// Entries beyond kEntries and of VLs that carry no data are left out. Begins with the first entry.
  void set_high(std::span<const VlWeight> entries) { high_.set(entries); }
  void set_low(std::span<const VlWeight> entries) { low_.set(entries); }
  /// Limit of High-Priority, in 4096 bytes: what the high table may send while a packet of the low one waits.
  /// 0: one packet; 255: no limit.
  void set_high_limit(std::uint8_t limit);

  /// The VL whose packet goes next, of those that have one and the credits for it. A VL of neither table
  /// waits for ever. After it sent() has to be called, or nothing of the kind has happened.
  std::optional<std::uint8_t> choose(VlMask ready);
  /// The chosen VL sends so many blocks.
  void sent(std::uint16_t blocks);

 private:
  class Table {
   public:
    void set(std::span<const VlWeight> entries);
    std::optional<std::uint8_t> choose(VlMask ready);
    void sent(std::uint16_t blocks) { left_ -= blocks; }

   private:
    std::array<VlWeight, kEntries> entries_{};  ///< those with a weight
    std::uint8_t size_ = 0;
    std::uint8_t current_ = 0;
    VlMask vls_ = 0;  ///< that have an entry
    int left_ = 0;    ///< of the weight of the current entry
  };
  enum class Chosen : std::uint8_t { management, high, low };

  void renew_high() { high_left_ = high_limit_ == 0 ? 1 : high_limit_ * kBlocksALimit; }
  bool high_may() const { return high_limit_ == kUnlimited || high_left_ > 0; }

  static constexpr int kBlocksALimit = 4096 / static_cast<int>(kFlowControlBlockBytes);
  Table high_;
  Table low_;
  int high_left_ = 1;  ///< blocks until the low table has its turn
  std::uint8_t high_limit_ = 0;
  Chosen chosen_ = Chosen::management;
};

}  // namespace softrnic::fabric
