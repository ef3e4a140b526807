// Sends the packets of a lane as InfiniBand frames to the process of its fabric.
//
// Frames are put together here in messages, so that nothing is lost when the fabric is slow: what the socket
// does not take stays, and the lane hands over no more until it has gone (is_full). That is the flow control
// of InfiniBand, carried on to the lane. Ports have messages of their own, and may take turns.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/device_info.h"
#include "link/fabric_message.h"
#include "link/link.h"
#include "link/packet_segmenter.h"
#include "wire/infiniband_frame.h"

namespace softrnic::link {

class FabricSender {
 public:
  /// `fd` stays the caller's.
  explicit FabricSender(int fd) : fd_(fd) {}

  /// The LIDs of this host's ports among them, from which its packets come.
  void set_addresses(std::vector<device::GidEntry> addresses) { addresses_ = std::move(addresses); }
  void set_tap(PacketTap* tap) { tap_ = tap; }

  /// Sends what the socket takes when much has come together. Once is_full(), kReserve is there for more.
  void send(const ib::TxPacket& packet);
  void send_damaged(const ib::TxPacket& packet, std::uint32_t bit);
  /// Sends what the socket takes.
  void flush();
  /// Some is left that the socket has not taken. May be called without the lock.
  bool is_full() const { return full_.load(std::memory_order_relaxed); }

  bool has_report() const { return lost_ != 0; }
  /// Reports what could not be sent since the last call.
  void report(Receiver& receiver);

 private:
  /// So many that wait are sent without a flush.
  static constexpr std::size_t kMany = 8;
  /// What a queue pair may send in a turn, after which a lane looks whether the link is full: 256 KiB and
  /// one long packet, of the least MTU and with all headers.
  static constexpr std::size_t kReserve = 12;
  static constexpr std::size_t kMessages = kMany + kReserve;
  struct Message {
    std::unique_ptr<std::byte[]> bytes;  ///< made at first use
    std::size_t size = 0;
    std::uint8_t port = 0;
    std::uint32_t packets = 0;
  };

  /// The frame of a packet of one path MTU, in a message. Empty: it was lost.
  MutableBytes add(const ib::TxPacket& packet);
  /// With room for so many bytes; none if there is no room at all.
  Message* message_for(std::uint8_t port, std::size_t bytes);
  Message* open_message(std::uint8_t port);
  wire::RouteHeaders route_of(const ib::AddressVector& path) const;
  wire::Lid lid_of(std::uint32_t port) const;
  void send_messages();
  /// False: the socket takes no more for the present.
  bool send_message(const Message& message);
  void lose(Qpn destination, int error, std::uint64_t packets);

  int fd_;
  PacketTap* tap_ = nullptr;
  std::vector<device::GidEntry> addresses_;
  PacketSegmenter segmenter_;
  std::array<Message, kMessages> messages_;
  std::size_t sent_ = 0;    ///< of the messages
  std::size_t filled_ = 0;  ///< of those that are not sent, the last one of each port may have room
  std::atomic<bool> full_{false};
  std::uint64_t lost_ = 0;  ///< packets
  Qpn lost_for_;
  int error_ = 0;
};

}  // namespace softrnic::link
