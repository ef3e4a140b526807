// Reads what the process of the fabric sends to a lane, takes the frames apart, checks each ICRC and parses
// it.
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "link/fabric_message.h"
#include "link/link.h"
#include "link/packet_coalescer.h"
#include "transport/ib/rx_packet.h"
#include "wire/infiniband_frame.h"

namespace softrnic::link {

class FabricReceiver {
 public:
  /// `fd` stays the caller's.
  explicit FabricReceiver(int fd);
  ~FabricReceiver();
  FabricReceiver(const FabricReceiver&) = delete;
  FabricReceiver& operator=(const FabricReceiver&) = delete;

  void set_tap(PacketTap* tap) { tap_ = tap; }

  /// Packets that were handed over or dropped; 0 when there are none.
  std::size_t receive(Receiver& receiver);
  /// The fabric has ended, and nothing will come any more. May be called without the lock.
  bool at_end() const { return at_end_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kSlots = 4;

  /// Reads messages when none is left to take apart.
  void fill();
  /// The message in the present slot, from its next frame on.
  void take_apart(Receiver& receiver, std::size_t& packets);
  /// The next frame of `rest_`, which it is taken from. Empty: what is left is none.
  Bytes next_frame();
  bool decode(Receiver& receiver, Bytes frame);
  /// Makes packet_, read from `frame`, stand for those behind it that go on with its message. Returns packets
  /// dropped.
  std::size_t join(Receiver& receiver, Bytes frame);
  bool intact(Receiver& receiver, Bytes frame);
  void drop_malformed(Receiver& receiver, Bytes frame) const;

  int fd_;
  PacketTap* tap_ = nullptr;
  std::byte* pool_ = nullptr;
  std::array<iovec, kSlots> pieces_;
  std::array<mmsghdr, kSlots> headers_;
  std::atomic<bool> at_end_{false};
  std::size_t filled_ = 0;  ///< slots that hold messages
  std::size_t slot_ = 0;    ///< the one that is taken apart
  Bytes rest_;              ///< what is left of it
  FabricHeader header_;     ///< of it
  wire::InfinibandFrame frame_;
  ib::RxPacket packet_;
  PacketCoalescer coalescer_;
};

}  // namespace softrnic::link
