// A datagram rsocket: a UDP socket, over which peers learn of each other's queue pairs, and one UD queue pair
// for each local address that it uses (see datagram_messages.h). No thread serves the UDP socket: the calls
// of the program do, and those that sleep wake for it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "rsocket/path_resolver.h"
#include "rsocket/socket.h"
#include "rsocket/socket_options.h"

namespace softrnic::rsocket {

class DatagramSocket final : public Socket {
 public:
  static Result<std::shared_ptr<DatagramSocket>> make(int family, int flags);

  /// Of the UDP socket.
  int fd() const override { return udp_.get(); }
  int type() const override { return SOCK_DGRAM; }

  Result<void> bind(const sockaddr* address, socklen_t length) override;
  Result<void> connect(const sockaddr* address, socklen_t length) override;
  Result<void> shutdown(int how) override;
  void close() override;
  Result<void> local_name(sockaddr* address, socklen_t* length) override;
  Result<void> peer_name(sockaddr* address, socklen_t* length) override;

  /// EINVAL: it has no address yet; as recvmsg(2).
  Result<std::size_t> receive(msghdr& message, int flags) override;
  /// EDESTADDRREQ, EMSGSIZE; ENODEV: no device has the local address; as sendmsg(2).
  Result<std::size_t> send(const msghdr& message, int flags) override;

  Result<void> set_option(int level, int name, const void* value, socklen_t length) override;
  Result<void> get_option(int level, int name, void* value, socklen_t* length) override;
  Result<int> control(int command, long argument) override;

  short ready(short events) override;
  short prepare(short events, std::vector<pollfd>& descriptors, Waker& waker) override;
  void after_sleep(Waker& waker) override;

 private:
  /// What has come and was not read: in a slot of its endpoint, or what came by UDP in memory of its own.
  struct Datagram {
    InetAddress sender;
    DatagramEndpoint* endpoint = nullptr;
    std::uint32_t slot = 0;
    std::vector<std::byte> own;
    Bytes payload;
  };
  DatagramSocket(int family, UniqueFd udp, ChannelPtr channel, int flags);

  bool nonblocking(int flags) const { return options_.nonblocking() || (flags & MSG_DONTWAIT) != 0; }
  bool can_send() const;
  bool can_receive_or_never() const { return !inbox_.empty() || !readable_ || closed_; }
  bool has_room_for_udp() const { return by_udp_ < options_.sizes().receive_queue; }
  SocketOptions::Stage option_stage() const;

  // ---- naming
  Result<void> bind_port(std::uint16_t port);
  Result<void> meet_peer();
  Result<void> keep_port(const InetAddress& before);
  Result<InetAddress> source_towards(const InetAddress& address) const;
  Result<DatagramEndpoint*> endpoint_at(const InetAddress& local);
  Result<Destination*> destination_of(const InetAddress& address);
  Result<Destination*> destination_of(const msghdr& message);

  // ---- moving
  void progress() override;
  void look_closer() override;
  bool polls() const override { return !endpoints_.empty(); }
  bool arm() override;
  void add_descriptors(std::vector<pollfd>& descriptors) const override;
  bool take_completions();
  void take_arrival(DatagramEndpoint& endpoint, const DatagramEndpoint::Arrival& arrival);
  void take_udp();
  void take_udp_message(Bytes bytes, const InetAddress& sender);
  /// It leaves the inbox: what it held is free again.
  void discard(const Datagram& datagram);
  Result<void> send_udp(const Destination& to, UdpOp op, std::span<const iovec> parts);
  Result<std::size_t> send_by_udp(Lock& lock, const InetAddress& to, const msghdr& message, bool nonblock);
  short state_events(short events) const;

  const int family_;
  const UniqueFd udp_;
  SocketOptions options_;
  std::vector<std::unique_ptr<DatagramEndpoint>> endpoints_;
  PathResolver paths_;
  Destinations destinations_;  ///< with handles of the endpoints
  std::optional<InetAddress> peer_;

  bool named_ = false;
  bool readable_ = false;
  bool writable_ = false;
  bool closed_ = false;
  std::deque<Datagram> inbox_;
  std::size_t by_udp_ = 0;  ///< of those in the inbox
  unsigned turns_ = 0;      ///< of progress(), since the UDP socket was looked at
  std::vector<DatagramEndpoint::Arrival> arrivals_;
};

}  // namespace softrnic::rsocket
