// What an endpoint has in flight of the window of its path: the bytes that it has told the window of and not
// taken back. They leave the window once, by whatever comes first: answers, a go-back, or the end of the
// endpoint.
#pragma once

#include <cstdint>

#include "transport/ib/path_window.h"

namespace softrnic::ib {

class WindowCharge {
 public:
  /// `window` is the endpoint's, and changes only while nothing is charged; nullptr: unlimited.
  explicit WindowCharge(PathWindow* const& window) : window_(window) {}
  WindowCharge(const WindowCharge&) = delete;
  WindowCharge& operator=(const WindowCharge&) = delete;
  ~WindowCharge() { leave(); }

  std::uint32_t bytes() const { return bytes_; }

  void sent(std::uint32_t bytes) {
    bytes_ += bytes;
    if (window_ != nullptr) window_->sent(bytes);
  }
  /// Packets of `bytes` were answered; those that leave() has given up are not charged any more.
  void answered(std::uint32_t bytes) {
    const std::uint32_t charged = bytes_;
    if (bytes > charged) bytes = charged;
    bytes_ = charged - bytes;
    if (window_ != nullptr) window_->acknowledged(bytes);
  }
  /// Nothing is in flight any more, whether it was lost or the peer is gone: the window belongs to the other
  /// QPs of the path.
  void leave() {
    if (window_ != nullptr) window_->forgotten(bytes_);
    bytes_ = 0;
  }

  /// For tests: what does not hold of it when `cost` is all that packets in flight take; nullptr: all does.
  const char* broken_invariant(std::uint64_t cost) const {
    if (window_ != nullptr && bytes_ > window_->in_flight())
      return "more is charged than the window has in flight";
    return bytes_ > cost ? "more is charged than is in flight" : nullptr;
  }

 private:
  PathWindow* const& window_;
  std::uint32_t bytes_ = 0;
};

}  // namespace softrnic::ib
