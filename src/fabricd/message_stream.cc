#include "fabricd/message_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace softrnic::fabricd {

MessageStream::MessageStream(UniqueFd socket)
    : socket_(std::move(socket)), in_(kReadAtOnce + kMostCableMessage) {
  const int on = 1;
  setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool MessageStream::receive() {
  std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  const ssize_t got = recv(socket_.get(), in_.data() + end_, in_.size() - end_, MSG_DONTWAIT);
  if (got > 0) end_ += static_cast<std::size_t>(got);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

std::optional<Bytes> MessageStream::next() {
  const Bytes have = Bytes(in_).subspan(begin_, end_ - begin_);
  if (malformed_ || have.size() < kCableHeaderBytes) return std::nullopt;
  const std::size_t size = load_be16(have.data());
  malformed_ = size < kCableHeaderBytes || size > kMostCableMessage;
  if (malformed_ || have.size() < size) return std::nullopt;
  begin_ += size;
  return have.first(size);
}

bool MessageStream::flush() {
  while (waiting() > 0) {
    const ssize_t sent = send(socket_.get(), out_.data() + written_, waiting(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) break;
    written_ += static_cast<std::size_t>(sent);
  }
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(std::exchange(written_, 0)));
  return true;
}

}  // namespace softrnic::fabricd
