// A queue pair of raw packets: whole Ethernet frames, one a message, out by the port's netdev and in by flow
// rules. Nothing of InfiniBand is in them; what it shares with UD is the send queue and the states.
#pragma once

#include "transport/ib/frame_placement.h"
#include "transport/ib/segment_cutter.h"
#include "transport/ib/unacknowledged_endpoint.h"

namespace softrnic::ib {

class RawPacketEndpoint final : public UnacknowledgedEndpoint {
 public:
  RawPacketEndpoint(Qpn local, const Capacity& capacity, Host& host)
      : UnacknowledgedEndpoint(local, capacity, host, wire::Service::ud), cutter_(capacity.header_bytes) {}

  /// attributes.path.interface_index: the port's netdev; path_mtu: bytes that a frame may have, header
  /// included.
  void start_responder(const Attributes& attributes) override;
  void start_requester(const Attributes& attributes) override;
  void drain() override;
  void flush() override;
  void reset() override;

  /// RoCE packets are not for it.
  void receive(const RxPacket& packet, TimePoint now) override;
  void receive_frame(const InboundFrame& frame) override;
  Transmit transmit(TxPacket& packet, TimePoint now) override;

  std::uint32_t send_psn() const override { return 0; }
  std::uint32_t receive_psn() const override { return 0; }
  bool drained() const override { return mode_ == Mode::draining; }

 private:
  bool valid(const SendWqe& wqe);
  Expected<void, Reason> build(const SendEntry& entry, TxPacket& packet);
  Expected<void, Reason> fill_checksums(TxPacket& packet);
  void fail_front(Status status, const Reason& reason);

  Transmit transmit_segment(TxPacket& packet);
  Expected<void, Reason> begin_cutting(const SendEntry& entry, TxPacket& packet);

  FramePlacement placement_;
  SegmentCutter cutter_;
};

}  // namespace softrnic::ib
