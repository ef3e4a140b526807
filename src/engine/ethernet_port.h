// The Ethernet side of one port, for the raw packet queue pairs of a lane: how their frames leave by its
// netdev, and by which rules frames come in.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "ethernet/flow_table.h"
#include "link/frame_receiver.h"
#include "link/frame_sender.h"
#include "link/packet_socket.h"
#include "rnic/flow.h"

namespace softrnic::engine {

/// Not thread-safe: the lane's lock guards it.
class EthernetPort {
 public:
  /// EPERM without CAP_NET_RAW, and what else PacketSocket::open() refuses. Not explained.
  static Expected<std::unique_ptr<EthernetPort>, Failure> open(std::uint32_t interface_index);

  std::uint32_t interface_index() const { return interface_index_; }
  /// Queue pairs and work queues that use it.
  int users = 0;

  link::FrameSender& sender() { return sender_; }
  /// Where frames come in, or -1: there is no rule.
  int readable_fd() const { return receiver_ != nullptr ? receiver_->fd() : -1; }

  /// The first rule opens the socket that frames come in by. Fails as open() does.
  Expected<void, Failure> add(rnic::Flow& flow);
  void remove(const rnic::Flow& flow);

  /// Reads some frames and calls take(flow, frame, parsed) for every rule that one of them goes to. Returns
  /// frames read. Where a queue has no receive posted they stay in the kernel for a while
  /// (waits_for_receives): a program that is off the processor would lose them to the engine thread.
  template <typename Take>
  std::size_t receive(TimePoint now, Take&& take) {
    if (receiver_ == nullptr) return 0;
    return receiver_->receive(may_read(now), [&](const ethernet::ReceivedFrame& frame) {
      const ethernet::ParsedFrame parsed = ethernet::parse(frame.bytes);
      table_.classify(parsed, frame.outgoing && !comes_back(parsed),
                      [&](ethernet::FlowRule& rule) { take(static_cast<rnic::Flow&>(rule), frame, parsed); });
    });
  }
  bool waits_for_receives() const { return waits_; }
  std::uint32_t take_drops() { return receiver_ != nullptr ? receiver_->take_drops() : 0; }

 private:
  EthernetPort(std::uint32_t interface_index, link::PacketSocket socket);
  /// An adapter hands a frame that leaves by a port to the rules of that port too, if it is for the port
  /// itself or for a group.
  bool comes_back(const ethernet::ParsedFrame& frame) const;
  void hear();
  std::size_t may_read(TimePoint now);
  struct Wanted {
    link::FrameReceiver::Filter filter;
    const std::byte* address;
  };
  Wanted wanted_by(const rnic::Flow& flow) const;

  const std::uint32_t interface_index_;
  const std::array<std::byte, ethernet::kMacBytes> address_;
  link::FrameSender sender_;
  std::unique_ptr<link::FrameReceiver> receiver_;  ///< while there are rules
  ethernet::FlowTable table_;
  bool waits_ = false;
  TimePoint out_of_receives_ = kNever;  ///< since when some queue has none
};

}  // namespace softrnic::engine
