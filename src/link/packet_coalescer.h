// Packets of one message that lie one behind the other in a datagram, put together to one that stands for all
// of them (ib::RxPacket::packets): what the transport does for a packet it then does once for a datagram.
#pragma once

#include <array>
#include <cstdint>

#include "transport/ib/rx_packet.h"
#include "transport/ib/types.h"

namespace softrnic::link {

class PacketCoalescer final : public ib::PayloadSource {
 public:
  /// Begins with `first`, which was read from `bytes` (BTH up to and including pad) and outlives the run.
  void begin(ib::RxPacket& first, Bytes bytes);
  /// Whether a packet of these bytes would be the next one. Looks at its headers alone; `bytes` as above.
  bool goes_on_with(Bytes bytes);
  /// Takes the packet along that goes_on_with() was asked for last.
  void take();
  /// From now on the first packet stands for all.
  void join();

  // ib::PayloadSource
  bool copy(std::size_t offset, std::byte* to, std::size_t size) override;

 private:
  static constexpr std::size_t kMost = 64;  ///< the kernel puts no more together (UDP_GRO_CNT_MAX)

  bool repeats_headers(Bytes bytes) const;
  bool continues() const;

  ib::RxPacket* first_ = nullptr;
  bool open_ = false;  ///< more may come
  std::uint32_t count_ = 0;
  std::size_t piece_ = 0;  ///< payload bytes of each but the last
  std::size_t size_ = 0;   ///< of all
  std::array<const std::byte*, kMost> pieces_;
  Bytes last_bytes_;
  const wire::OpcodeInfo* last_ = nullptr;  ///< of the one that was taken last
  wire::Packet next_;                       ///< the one that was asked for; perhaps it is not taken
  Bytes next_bytes_;
};

}  // namespace softrnic::link
