// What tests of rsockets need again and again: an owner, and two datagram rsockets that know each other.
#pragma once

#include <infiniband/ib.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>

#include <string_view>

#include "tests/abi/cm_fixture.h"

namespace softrnic::abi_test {

inline socklen_t size_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_IB) return sizeof(sockaddr_ib);
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

class Rsocket {
 public:
  explicit Rsocket(int fd) : fd_(fd) { EXPECT_GE(fd, 0) << std::strerror(errno); }
  Rsocket(int domain, int type) : Rsocket(::rsocket(domain, type, 0)) {}
  ~Rsocket() { close(); }
  Rsocket(const Rsocket&) = delete;
  Rsocket& operator=(const Rsocket&) = delete;
  int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) {
      EXPECT_EQ(rclose(fd_), 0);
    }
    fd_ = -1;
  }
  sockaddr_storage name() const {
    sockaddr_storage out{};
    socklen_t length = sizeof out;
    EXPECT_EQ(rgetsockname(fd_, generic(out), &length), 0);
    return out;
  }
  int bind(const std::string& text) {
    sockaddr_storage address = address_of(text);
    return rbind(fd_, generic(address), size_of(address));
  }
  int connect(sockaddr_storage to) { return rconnect(fd_, generic(to), size_of(to)); }
  ssize_t send(std::string_view text) { return rsend(fd_, text.data(), text.size(), 0); }
  ssize_t send_to(std::string_view text, sockaddr_storage to) {
    return rsendto(fd_, text.data(), text.size(), 0, generic(to), size_of(to));
  }
  /// The next datagram, if it comes in time.
  std::string receive(sockaddr_storage* from = nullptr, int flags = 0) {
    pollfd waiting{fd_, POLLIN, 0};
    EXPECT_EQ(rpoll(&waiting, 1, kPatienceMs), 1);
    std::string text(4096, '\0');
    socklen_t length = sizeof *from;
    const ssize_t size =
        rrecvfrom(fd_, text.data(), text.size(), flags | MSG_DONTWAIT,
                  from != nullptr ? generic(*from) : nullptr, from != nullptr ? &length : nullptr);
    EXPECT_GE(size, 0) << std::strerror(errno);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }
  bool quiet() {
    char byte = 0;
    const bool none = rrecv(fd_, &byte, 1, MSG_DONTWAIT) == -1;
    EXPECT_TRUE(!none || errno == EAGAIN) << std::strerror(errno);
    return none;
  }

 private:
  int fd_;
};

class DatagramRsocketTest : public CmTest {
 protected:
  /// Two that are bound to `text`; the client's peer is the server.
  void pair(const std::string& text = "127.0.0.1") {
    const int family = address_of(text).ss_family;
    receiver = std::make_unique<Rsocket>(family, SOCK_DGRAM);
    sender = std::make_unique<Rsocket>(family, SOCK_DGRAM);
    ASSERT_EQ(receiver->bind(text), 0) << std::strerror(errno);
    ASSERT_EQ(sender->connect(receiver->name()), 0) << std::strerror(errno);
  }

  std::unique_ptr<Rsocket> receiver, sender;
};

}  // namespace softrnic::abi_test
