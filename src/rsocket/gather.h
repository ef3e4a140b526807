// Walks over the buffers of a program: those of sendmsg(2) and recvmsg(2).
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <span>

#include "base/bytes.h"
#include "base/memory_copy.h"

namespace softrnic::rsocket {

inline std::span<const iovec> parts_of(const msghdr& message) {
  return {message.msg_iov, message.msg_iov != nullptr ? message.msg_iovlen : 0};
}

/// Takes bytes out of buffers, in order.
class Gather {
 public:
  explicit Gather(std::span<const iovec> parts) : parts_(parts) {
    for (const iovec& part : parts) left_ += part.iov_len;
  }
  std::size_t left() const { return left_; }
  /// As many as `to` has room for: there have to be that many.
  void copy(MutableBytes to) {
    while (!to.empty()) {
      const iovec& part = parts_.front();
      const std::size_t now = std::min(part.iov_len - offset_, to.size());
      if (now > 0) copy_memory(to.data(), static_cast<const std::byte*>(part.iov_base) + offset_, now);
      to = to.subspan(now);
      offset_ += now;
      left_ -= now;
      if (offset_ < part.iov_len) continue;
      parts_ = parts_.subspan(1);
      offset_ = 0;
    }
  }

 private:
  std::span<const iovec> parts_;
  std::size_t offset_ = 0;
  std::size_t left_ = 0;
};

/// Fills buffers in order, and says how many bytes they had room for.
inline std::size_t scatter(Bytes from, std::span<const iovec> parts) {
  std::size_t done = 0;
  for (const iovec& part : parts) {
    const std::size_t now = std::min(part.iov_len, from.size() - done);
    if (now > 0) copy_memory(static_cast<std::byte*>(part.iov_base), &from[done], now);
    done += now;
  }
  return done;
}

}  // namespace softrnic::rsocket
