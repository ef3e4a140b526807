// Which unexpected messages of a tag matching SRQ the program has dealt with.
//
// A message that no tagged buffer matches goes to the program, which may have the buffer for it, or may just
// be posting it. If such a buffer could be matched at once, a later message would overtake the earlier one.
// So both sides count, and while the counts differ, new buffers wait (tag_matching.md, "phase synchronization").
#pragma once

#include <cstdint>

namespace softrnic::rnic {

class UnexpectedMessages {
 public:
  /// A message is found to be unexpected. It may take some packets until the program can be told.
  void began() { ++under_way_; }
  /// Its completion goes to the program, which counts it, unless that is a failure.
  void ended(bool success) {
    --under_way_;
    if (success) ++told_;
  }
  /// The program has dealt with so many. Only 16 bits tell, as with adapters (mlx5), so that programs may
  /// count with fewer than 32. More than it was told of, or fewer than it has said before: nothing changes.
  void dealt_with(std::uint32_t count) {
    const std::uint32_t more = (count - dealt_with_) & 0xffff;
    if (more <= open()) dealt_with_ += more;
  }
  /// Whether new buffers may be matched.
  bool settled() const { return under_way_ == 0 && open() == 0; }
  /// What the program was told of and has not dealt with.
  std::uint32_t open() const { return told_ - dealt_with_; }
  /// So many that the 16 bits will soon say nothing any more. As mlx5.
  bool urgent() const { return open() > 0x3fff; }

 private:
  std::uint32_t under_way_ = 0;
  std::uint32_t told_ = 0;
  std::uint32_t dealt_with_ = 0;
};

}  // namespace softrnic::rnic
