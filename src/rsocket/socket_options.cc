#include "rsocket/socket_options.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>

#include <algorithm>
#include <cstring>

#include "base/reason_id.h"
#include "rsocket/messages.h"

namespace softrnic::rsocket {
namespace {

Unexpected<int> unknown(int level, int name) {
  return refused(ENOTSUP, ReasonId::rsocket_option, name, level);
}

Result<int> as_int(const void* value, socklen_t length) {
  if (value == nullptr) return fail(EFAULT);
  if (length < sizeof(int)) return fail(EINVAL);
  int number = 0;
  std::memcpy(&number, value, sizeof number);
  return number;
}

template <typename T>
Result<void> give(const T& what, void* value, socklen_t* length) {
  *length = std::min<socklen_t>(*length, sizeof what);
  std::memcpy(value, &what, *length);
  return {};
}

void set_bit(std::uint64_t& bits, int name, bool on) {
  const std::uint64_t bit = std::uint64_t{1} << (name & 63);
  bits = on ? bits | bit : bits & ~bit;
}

int bit_of(std::uint64_t bits, int name) { return static_cast<int>(bits >> (name & 63) & 1); }

std::uint32_t doubled(int bytes) { return static_cast<std::uint32_t>(std::clamp(bytes, 1, 1 << 29)) * 2; }

std::uint16_t queue_size(int size) {
  return static_cast<std::uint16_t>(std::clamp<int>(size, 0, kMostQueue));
}

Result<void> set_id_option(rdma_cm_id* id, int name, const void* value, socklen_t length) {
  std::vector<std::byte> copy(length);
  std::memcpy(copy.data(), value, length);
  if (rdma_set_option(id, RDMA_OPTION_ID, name, copy.data(), length) != 0) return fail_errno();
  return {};
}

}  // namespace

Result<void> SocketOptions::set_of_socket(const Stage& stage, int name, const void* value, socklen_t length) {
  if (name == SO_LINGER) {
    if (value == nullptr) return fail(EFAULT);
    if (length < sizeof(linger)) return fail(EINVAL);
    linger_ = static_cast<const linger*>(value)->l_onoff != 0;
    return {};
  }
  const auto number = as_int(value, length);
  if (!number) return fail(number.error());
  switch (name) {
    case SO_REUSEADDR:
      // Once it has a name it is too late, and no program looks for that.
      if (!stage.named) {
        if (auto set = set_id_option(stage.id, RDMA_OPTION_ID_REUSEADDR, value, sizeof(int)); !set)
          return set;
      }
      break;
    case SO_RCVBUF:
      if (!stage.made) sizes_.receive_buffer = doubled(*number);
      return {};
    case SO_SNDBUF:
      if (!stage.made) sizes_.send_buffer = std::max(doubled(*number), 2 * kLeastSendRoom);
      return {};
    case SO_KEEPALIVE:
    case SO_OOBINLINE:
      break;
    default:
      return unknown(SOL_SOCKET, name);
  }
  set_bit(socket_bits_, name, *number != 0);
  return {};
}

Result<void> SocketOptions::set_of_tcp(int name, const void* value, socklen_t length) {
  if (name == TCP_CONGESTION) return {};
  const auto number = as_int(value, length);
  if (!number) return fail(number.error());
  switch (name) {
    case TCP_KEEPCNT:  // a reliable connection has its own retries
    case TCP_KEEPINTVL:
    case TCP_MAXSEG:
      return {};
    case TCP_KEEPIDLE:
      if (*number <= 0) return fail(EINVAL);
      keep_idle_ = *number;
      return {};
    case TCP_NODELAY:
      set_bit(tcp_bits_, name, *number != 0);
      return {};
    default:
      return unknown(IPPROTO_TCP, name);
  }
}

Result<void> SocketOptions::set_of_rdma(const Stage& stage, int name, const void* value, socklen_t length) {
  if (stage.opening) return fail(EINVAL);
  if (name == RDMA_ROUTE) {
    if (value == nullptr || length == 0) return fail(EINVAL);
    const auto* bytes = static_cast<const std::byte*>(value);
    route_.assign(bytes, bytes + length);
    return {};
  }
  const auto number = as_int(value, length);
  if (!number) return fail(number.error());
  switch (name) {
    case RDMA_SQSIZE:
      sizes_.send_queue = queue_size(*number);
      return {};
    case RDMA_RQSIZE:
      sizes_.receive_queue = queue_size(*number);
      return {};
    case RDMA_INLINE:
      sizes_.inline_data = queue_size(*number);
      return {};
    case RDMA_IOMAPSIZE:
      sizes_.mappings = from_scale(to_scale(static_cast<std::uint32_t>(std::clamp(*number, 0, 0x7fff))));
      return {};
    default:
      return unknown(SOL_RDMA, name);
  }
}

Result<void> SocketOptions::set_of_ip(const Stage& stage, int name, const void* value, socklen_t length) {
  const auto number = as_int(value, length);
  if (!number) return fail(number.error());
  if (name != IP_TOS) return unknown(IPPROTO_IP, name);
  const auto byte = static_cast<std::uint8_t>(*number);
  if (auto set = set_id_option(stage.id, RDMA_OPTION_ID_TOS, &byte, sizeof byte); !set) return set;
  type_of_service_ = *number;
  return {};
}

Result<void> SocketOptions::set_of_ipv6(const Stage& stage, int name, const void* value, socklen_t length) {
  const auto number = as_int(value, length);
  if (!number) return fail(number.error());
  if (name != IPV6_V6ONLY) return unknown(IPPROTO_IPV6, name);
  if (auto set = set_id_option(stage.id, RDMA_OPTION_ID_AFONLY, value, sizeof(int)); !set) return set;
  only_v6_ = *number != 0;
  return {};
}

Result<void> SocketOptions::set(const Stage& stage, int level, int name, const void* value,
                                socklen_t length) {
  switch (level) {
    case SOL_SOCKET:
      return set_of_socket(stage, name, value, length);
    case IPPROTO_TCP:
      return set_of_tcp(name, value, length);
    case SOL_RDMA:
      return set_of_rdma(stage, name, value, length);
    case IPPROTO_IP:
      return set_of_ip(stage, name, value, length);
    case IPPROTO_IPV6:
      return set_of_ipv6(stage, name, value, length);
    default:
      return unknown(level, name);
  }
}

Result<void> SocketOptions::get_of_socket(const Stage& stage, int name, void* value,
                                          socklen_t* length) const {
  switch (name) {
    case SO_REUSEADDR:
    case SO_KEEPALIVE:
    case SO_OOBINLINE:
      return give(bit_of(socket_bits_, name), value, length);
    case SO_BROADCAST:
      return give(0, value, length);
    case SO_TYPE:
      return give(int{SOCK_STREAM}, value, length);
    case SO_RCVBUF:
      return give(static_cast<int>(sizes_.receive_buffer), value, length);
    case SO_SNDBUF:
      return give(static_cast<int>(sizes_.send_buffer), value, length);
    case SO_LINGER:
      return give(linger{linger_, 0}, value, length);
    case SO_ERROR:
      return give(stage.error, value, length);
    default:
      return unknown(SOL_SOCKET, name);
  }
}

Result<void> SocketOptions::get_of_tcp(const Stage& stage, int name, void* value, socklen_t* length) const {
  switch (name) {
    case TCP_CONGESTION: {
      constexpr char kName[] = "rdma";
      return give(kName, value, length);
    }
    case TCP_KEEPCNT:
    case TCP_KEEPINTVL:
      return give(1, value, length);
    case TCP_KEEPIDLE:
      return give(keep_idle_, value, length);
    case TCP_NODELAY:
      return give(bit_of(tcp_bits_, name), value, length);
    case TCP_MAXSEG: {
      const bool routed = stage.id->route.num_paths > 0 && stage.id->route.path_rec != nullptr;
      return give(routed ? 1 << (7 + stage.id->route.path_rec->mtu) : 2048, value, length);
    }
    case TCP_INFO: {
      tcp_info info{};
      info.tcpi_state =
          static_cast<std::uint8_t>(stage.connected ? 1 : 7);  // ESTABLISHED, CLOSE of tcp_states.h
      info.tcpi_snd_cwnd = sizes_.send_queue;
      return give(info, value, length);
    }
    default:
      return unknown(IPPROTO_TCP, name);
  }
}

Result<void> SocketOptions::get_of_rdma(int name, void* value, socklen_t* length) const {
  switch (name) {
    case RDMA_SQSIZE:
      return give(int{sizes_.send_queue}, value, length);
    case RDMA_RQSIZE:
      return give(int{sizes_.receive_queue}, value, length);
    case RDMA_INLINE:
      return give(int{sizes_.inline_data}, value, length);
    case RDMA_IOMAPSIZE:
      return give(int{sizes_.mappings}, value, length);
    case RDMA_ROUTE:
      if (route_.empty() || *length < route_.size()) return fail(EINVAL);
      std::memcpy(value, route_.data(), route_.size());
      *length = static_cast<socklen_t>(route_.size());
      return {};
    default:
      return unknown(SOL_RDMA, name);
  }
}

Result<void> SocketOptions::get(const Stage& stage, int level, int name, void* value,
                                socklen_t* length) const {
  if (level == SOL_SOCKET) return get_of_socket(stage, name, value, length);
  if (level == IPPROTO_TCP) return get_of_tcp(stage, name, value, length);
  if (level == SOL_RDMA) return get_of_rdma(name, value, length);
  if (level == IPPROTO_IP && name == IP_TOS) return give(type_of_service_, value, length);
  if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY) return give(only_v6_, value, length);
  return unknown(level, name);
}

// ---- flags

void SocketOptions::set_flags(int flags) {
  status_flags_ = (flags & SOCK_NONBLOCK) != 0 ? O_NONBLOCK : 0;
  descriptor_flags_ = (flags & SOCK_CLOEXEC) != 0 ? FD_CLOEXEC : 0;
}

void SocketOptions::inherit_flags(const SocketOptions& listener) {
  status_flags_ = listener.status_flags_;
  descriptor_flags_ = listener.descriptor_flags_;
}

Result<int> SocketOptions::control(int command, long argument) {
  switch (command) {
    case F_GETFL:
      return O_RDWR | status_flags_;
    case F_SETFL:
      status_flags_ = static_cast<int>(argument) & O_NONBLOCK;
      return 0;
    case F_GETFD:
      return descriptor_flags_;
    case F_SETFD:
      descriptor_flags_ = static_cast<int>(argument);
      return 0;
    default:
      return refused(ENOTSUP, ReasonId::rsocket_option, command, 0);
  }
}

}  // namespace softrnic::rsocket
