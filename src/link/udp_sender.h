// Sends packets from the sockets of a lane: batches, cuts by the kernel, and what to do when the kernel
// refuses.
#pragma once

#include <vector>

#include "device/device_info.h"
#include "link/link.h"
#include "link/packet_segmenter.h"
#include "link/tx_batch.h"
#include "link/tx_sockets.h"

namespace softrnic::link {

class UdpSender {
 public:
  /// `fd` is the lane's socket, bound to `source_port`; packets go to `peer_port` of their destination. What
  /// a full socket does not take is lost after a while, or at once when not `patient`.
  UdpSender(int fd, Family family, std::uint16_t source_port, std::uint16_t peer_port, bool patient = true);

  /// The addresses of this host, so that packets from a link-local or to a multicast address find their
  /// netdev.
  void set_addresses(std::vector<device::GidEntry> addresses) { addresses_ = std::move(addresses); }

  void set_tap(PacketTap* tap) { tap_ = tap; }

  void send(const ib::TxPacket& packet);
  void send_damaged(const ib::TxPacket& packet, std::uint32_t bit);
  void flush();

  bool has_report() const { return !refusals_.empty(); }
  /// Reports what could not be sent since the last call.
  void report(Receiver& receiver);

 private:
  struct Refusal {
    int error;
    std::uint32_t ip_bytes;  ///< of the packet
    std::uint32_t mtu;       ///< of the netdev, as far as it is known; EMSGSIZE alone
    Qpn destination;
    std::uint64_t packets;
  };
  static constexpr std::size_t kRefusals = 16;

  TxRoute route_of(const ib::TxPacket& packet);
  /// The netdev that has an address of this host, 0: unknown.
  std::uint32_t interface_of(const wire::Gid& address) const;
  bool may_segment(const wire::Gid& destination) const;
  void show();
  void send_group(int fd, std::size_t count);
  /// Waits until `fd` takes more. False when it has taken too long.
  bool wait_writable(int fd, int& waits) const;
  void send_unsegmented(TxMessage& message);
  void refused(const TxMessage& message, int error, std::uint64_t packets);

  Family family_;
  std::uint16_t peer_port_;
  int most_waits_;
  PacketTap* tap_ = nullptr;
  TxSockets sockets_;
  std::vector<device::GidEntry> addresses_;
  PacketSegmenter segmenter_;
  TxBatch batch_;
  std::vector<TxMessage*> group_;         ///< of one socket, in order
  std::vector<wire::Gid> unsegmentable_;  ///< destinations whose route refused UDP_SEGMENT
  std::vector<Refusal> refusals_;
};

}  // namespace softrnic::link
