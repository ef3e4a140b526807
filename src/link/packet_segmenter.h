// Takes a packet that stands for several (ib::TxPacket::packets) apart.
#pragma once

#include "transport/ib/types.h"

namespace softrnic::link {

class PacketSegmenter {
 public:
  /// `whole` outlives the parts.
  void begin(const ib::TxPacket& whole);
  bool done() const { return taken_ == whole_->packets; }
  /// The next part; valid until the one after it is asked for. Its fragments are those of the whole.
  const ib::TxPacket& next();

  /// The parts that follow as far as they differ from the one before in PSN and payload alone, and their
  /// payload lies in one piece of memory.
  struct Alike {
    const std::byte* payload = nullptr;  ///< of all, one behind the other
    std::uint32_t count = 0;
  };
  Alike alike() const;
  /// The first `parts` of these need not be asked for.
  void skip(std::uint32_t parts);

 private:
  void take_payload(std::uint32_t bytes);
  void advance(std::size_t bytes);

  const ib::TxPacket* whole_ = nullptr;
  ib::TxPacket part_;
  std::uint32_t taken_ = 0;  ///< parts
  std::size_t fragment_ = 0, within_ = 0;
};

/// Calls use(packet) for each packet of the path MTU that `packet` stands for.
template <typename Use>
void for_each_packet(const ib::TxPacket& packet, PacketSegmenter& split, Use&& use) {
  if (packet.packets == 1) return use(packet);
  for (split.begin(packet); !split.done();) use(split.next());
}

}  // namespace softrnic::link
