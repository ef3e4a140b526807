// The UDP link: RoCEv2 packets through a lane's socket.
#pragma once

#include "link/link.h"
#include "link/udp_receiver.h"
#include "link/udp_sender.h"

namespace softrnic::link {

class UdpLink final : public Link {
 public:
  struct Options {
    int fd = -1;                                   ///< a bound UDP socket, AF_INET6 (dual-stack) or AF_INET
    std::uint16_t port = wire::kRoceUdpPort;       ///< that it is bound to
    std::uint16_t peer_port = wire::kRoceUdpPort;  ///< that packets are sent to
    bool patient = true;  ///< waits some milliseconds for a full socket; else what it does not take is lost
    bool sizes_buffers = true;  ///< false: the socket's buffers keep the sizes that they have
  };

  /// Takes the socket over and closes it in the end. Sets all its options, but for what `options` says.
  explicit UdpLink(const Options& options);
  ~UdpLink() override;
  UdpLink(const UdpLink&) = delete;
  UdpLink& operator=(const UdpLink&) = delete;

  /// The addresses of this host, so that packets from a link-local or to a multicast address find their
  /// netdev.
  void set_addresses(std::vector<device::GidEntry> addresses) override;

  void set_tap(PacketTap* tap) override;
  void send(const ib::TxPacket& packet, TimePoint now) override;
  void send_damaged(const ib::TxPacket& packet, std::uint32_t bit, TimePoint now) override;
  void flush(TimePoint now) override;
  std::size_t receive(Receiver& receiver, TimePoint now) override;
  bool has_packet(TimePoint) const override;
  /// At once while there are refused packets to report.
  TimePoint deadline() const override { return sender_.has_report() ? TimePoint::min() : kNever; }
  int readable_fd() const override { return fd_; }
  bool join(const wire::Gid& group, std::uint32_t interface_index) override;
  bool leave(const wire::Gid& group, std::uint32_t interface_index) override;

 private:
  bool change_membership(bool join, const wire::Gid& group, std::uint32_t interface_index);

  int fd_;
  Family family_;
  UdpSender sender_;
  UdpReceiver receiver_;
};

}  // namespace softrnic::link
