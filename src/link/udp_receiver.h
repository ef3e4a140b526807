// Reads a lane's socket in batches, cuts merged packets apart, checks each ICRC and parses it.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>

#include "link/ipv4_id_policy.h"
#include "link/link.h"
#include "link/packet_coalescer.h"
#include "link/socket_address.h"
#include "transport/ib/rx_packet.h"
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

  /// Packets that were handed over or dropped; 0 when there are none, or the first one was refused. `now`
  /// (CLOCK_MONOTONIC) may be a little old.
  std::size_t receive(Receiver& receiver, TimePoint now);

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
  /// Reads datagrams when none is left to cut.
  void fill(TimePoint now);
  /// Hands over what is left of the present datagram; false: a packet was refused.
  void split(Receiver& receiver, std::size_t& packets);
  /// The packet that is next in the present datagram, and its place there.
  struct Segment {
    Bytes bytes;
    std::uint16_t position = 0;
  };
  Segment next_segment() const;
  /// Whether the packet in `segment` is well-formed and intact and stands in packet_.
  bool decode(Receiver& receiver, const Segment& segment);
  /// Whether the segments behind the first one of the present datagram are known to be counted from 0.
  bool counts_segments() const;
  /// Makes packet_, read from `segment`, stand for those behind it that go on with its message.
  /// Returns packets dropped.
  std::size_t join(Receiver& receiver, const Segment& segment);
  bool intact(Receiver& receiver, const Segment& segment);
  /// The same for one that is not the first of its datagram when counts_segments().
  bool intact_in_row(Receiver& receiver, const Segment& segment);
  struct IcrcCheck {
    std::uint32_t received = 0;
    std::uint32_t expected = 0;
    std::uint16_t id = 0;         ///< the identification that the ICRC is right for
    bool right_for_some = false;  ///< identification
  };

  /// Whether the ICRC is right for an identification that is believed of this source.
  bool check_icrc(const wire::Flow& flow, Bytes bytes, std::uint16_t position, IcrcCheck& check);
  bool believes(const wire::Flow& flow, std::uint16_t id, TimePoint before);
  void count_overflows(Receiver& receiver);

  int fd_;
  Family family_;
  std::uint16_t port_;
  PacketTap* tap_ = nullptr;
  std::byte* pool_ = nullptr;
  /// That are known. The socket counts for as long as it lives, which is longer than its readers:
  /// they begin where it stands.
  std::uint32_t overflows_;
  std::array<Slot, kSlots> slots_;
  std::array<mmsghdr, kSlots> headers_;
  IdPolicy ids_;
  wire::LastIcrcStart start_;
  ib::RxPacket packet_;
  PacketCoalescer coalescer_;
  TimePoint asked_at_{};    ///< the socket, last
  TimePoint empty_at_{};    ///< it was at some time after this, and before what is in the slots came
  bool emptied_ = false;    ///< by what is in the slots
  std::size_t filled_ = 0;  ///< slots that hold datagrams
  std::size_t slot_ = 0;    ///< the one that is being cut
  std::size_t cut_ = 0;     ///< how far, in bytes
  Bytes datagram_;          ///< the one that is being cut
  Envelope envelope_;       ///< and what it came in
};

}  // namespace softrnic::link
