// Options and flags of a stream rsocket, as rsocket(7) lists them.
#pragma once

#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rsocket/result.h"
#include "rsocket/sizes.h"

namespace softrnic::rsocket {

/// What a program has set. The socket's lock guards it.
class SocketOptions {
 public:
  /// How far the socket is.
  struct Stage {
    rdma_cm_id* id = nullptr;
    bool named = false;    ///< it has an address
    bool opening = false;  ///< its connection has begun
    bool made = false;     ///< its queues and buffers are there
    bool connected = false;
    int error = 0;  ///< what SO_ERROR gives
  };

  explicit SocketOptions(const Sizes& sizes) : sizes_(sizes) {}

  /// setsockopt(2). EFAULT, EINVAL: the value, or too late; ENOTSUP: no such option.
  Result<void> set(const Stage& stage, int level, int name, const void* value, socklen_t length);
  /// getsockopt(2). ENOTSUP: no such option.
  Result<void> get(const Stage& stage, int level, int name, void* value, socklen_t* length) const;
  /// fcntl(2) with F_GETFL, F_SETFL, F_GETFD and F_SETFD; else ENOTSUP.
  Result<int> control(int command, long argument);

  /// The flags of socket(2).
  void set_flags(int flags);
  /// What a listener hands on to those that it accepts.
  void inherit_flags(const SocketOptions& listener);
  bool nonblocking() const { return (status_flags_ & O_NONBLOCK) != 0; }
  const Sizes& sizes() const { return sizes_; }
  /// What the device gave of them.
  void set_sizes(const Sizes& given) { sizes_ = given; }
  /// Of RDMA_ROUTE; empty: the route is to be resolved.
  const std::vector<std::byte>& route() const { return route_; }

 private:
  Result<void> set_of_socket(const Stage& stage, int name, const void* value, socklen_t length);
  Result<void> set_of_tcp(int name, const void* value, socklen_t length);
  Result<void> set_of_rdma(const Stage& stage, int name, const void* value, socklen_t length);
  Result<void> set_of_ip(const Stage& stage, int name, const void* value, socklen_t length);
  Result<void> set_of_ipv6(const Stage& stage, int name, const void* value, socklen_t length);
  Result<void> get_of_socket(const Stage& stage, int name, void* value, socklen_t* length) const;
  Result<void> get_of_tcp(const Stage& stage, int name, void* value, socklen_t* length) const;
  Result<void> get_of_rdma(int name, void* value, socklen_t* length) const;

  Sizes sizes_;
  int status_flags_ = 0;
  int descriptor_flags_ = 0;
  std::uint64_t socket_bits_ = 0;  ///< one bit an option
  std::uint64_t tcp_bits_ = 0;
  int type_of_service_ = 0;
  int only_v6_ = 0;
  int keep_idle_ = 7200;  ///< s
  bool linger_ = true;
  std::vector<std::byte> route_;
};

}  // namespace softrnic::rsocket
