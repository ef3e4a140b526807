#include "link/frame_sender.h"

#include <poll.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace softrnic::link {
namespace {

constexpr int kMaxWaits = 8;  ///< × kWaitMs: the longest a full netdev may hold up a lane
constexpr int kWaitMs = 5;

bool is_full(int error) { return error == EAGAIN || error == ENOBUFS || error == ENOMEM; }

}  // namespace

FrameSender::FrameSender(UniqueFd fd) : fd_(std::move(fd)), copies_(kCopyBytes) {}

std::byte* FrameSender::copy(const ib::Fragment& fragment) {
  std::byte* const to = copies_.data() + copied_;
  std::memcpy(to, fragment.data, fragment.size);
  copied_ += fragment.size;
  return to;
}

void FrameSender::send(const ib::TxPacket& frame) {
  const bool room = frames_ < kFrames && used_pieces_ + frame.fragment_count <= kPieces &&
                    copied_ + frame.payload_bytes <= kCopyBytes;
  if (!room) flush();
  if (frame.payload_bytes > kCopyBytes) {
    ++report_.frames;
    report_.error = EMSGSIZE;
    report_.bytes = frame.payload_bytes;
    return;
  }
  mmsghdr& message = messages_[frames_++];
  message = {};
  message.msg_hdr.msg_iov = &pieces_[used_pieces_];
  message.msg_hdr.msg_iovlen = frame.fragment_count;
  message.msg_len = frame.payload_bytes;
  for (std::size_t i = 0; i < frame.fragment_count; ++i) {
    const ib::Fragment& fragment = frame.fragments[i];
    const bool lasts = fragment.key.value != 0;
    std::byte* const at = lasts ? const_cast<std::byte*>(fragment.data) : copy(fragment);
    pieces_[used_pieces_++] = {at, fragment.size};
  }
}

bool FrameSender::wait_writable(int& waits) const {
  if (++waits > kMaxWaits) return false;
  pollfd entry{fd_.get(), POLLOUT, 0};
  poll(&entry, 1, kWaitMs);
  return true;
}

void FrameSender::flush() {
  int waits = 0;
  for (std::size_t sent = 0; sent < frames_;) {
    const std::size_t bytes = messages_[sent].msg_len;
    const int n = sendmmsg(fd_.get(), &messages_[sent], static_cast<unsigned>(frames_ - sent), MSG_DONTWAIT);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
      continue;
    }
    const int error = errno;
    if (error == EINTR || (is_full(error) && wait_writable(waits))) continue;
    ++report_.frames;
    report_.error = error;
    report_.bytes = bytes;
    ++sent;
  }
  frames_ = used_pieces_ = copied_ = 0;
}

FrameSender::Report FrameSender::take_report() { return std::exchange(report_, {}); }

}  // namespace softrnic::link
