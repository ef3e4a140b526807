// Reads a lane's socket in batches, cuts merged packets apart, checks each ICRC and parses it.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>

#include "link/id_policy.h"
#include "link/link.h"
#include "link/socket_address.h"
#include "wire/icrc.h"

namespace softrnic::link {

class UdpReceiver {
 public:
  /// `port` is the destination port of the packets that come in.
  UdpReceiver(int fd, Family family, std::uint16_t port);
  ~UdpReceiver();
  UdpReceiver(const UdpReceiver&) = delete;
  UdpReceiver& operator=(const UdpReceiver&) = delete;

  void set_tap(PacketTap* tap) { tap_ = tap; }

  std::size_t receive(Receiver& receiver);

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kSlotBytes = 64 * 1024;
  static constexpr std::size_t kControlBytes = 256;

  struct Slot {
    SocketAddress from;
    iovec piece;
    alignas(cmsghdr) std::byte control[kControlBytes];
  };
  /// What the control messages of a datagram say.
  struct Envelope {
    wire::Flow flow;
    std::uint32_t interface_index = 0;
    std::size_t segment_bytes = 0;  ///< 0: one packet
    std::uint32_t overflows = 0;
    bool has_overflows = false;
  };

  void prepare();
  Envelope open(const msghdr& header) const;
  std::size_t split(Receiver& receiver, const Envelope& envelope, Bytes datagram);
  void packet(Receiver& receiver, const Envelope& envelope, Bytes bytes, std::uint16_t position);
  struct IcrcCheck {
    std::uint32_t received = 0;
    std::uint32_t expected = 0;
    std::uint16_t id = 0;  ///< the identification that was believed
  };

  /// Whether the ICRC is right for an identification that this source may use.
  bool check_icrc(const wire::Flow& flow, Bytes bytes, std::uint16_t position, IcrcCheck& check);
  void count_overflows(Receiver& receiver, const Envelope& envelope);

  int fd_;
  Family family_;
  std::uint16_t port_;
  PacketTap* tap_ = nullptr;
  std::byte* pool_ = nullptr;
  std::uint32_t overflows_ = 0;
  std::array<Slot, kSlots> slots_;
  std::array<mmsghdr, kSlots> headers_;
  IdPolicy ids_;
  ib::RxPacket packet_;
};

}  // namespace softrnic::link
