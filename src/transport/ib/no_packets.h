// What a queue pair has in place of an endpoint for packets when its transport is a stream: packets that are
// sent to its number all the same are dropped, and none go out.
#pragma once

#include "transport/ib/endpoint.h"

namespace softrnic::ib {

class NoPackets final : public Endpoint {
 public:
  explicit NoPackets(Host& host) : host_(host) {}

  void receive(const RxPacket& packet, TimePoint) override;
  Transmit transmit(TxPacket&, TimePoint) override { return Transmit::idle; }

  void start_responder(const Attributes&) override {}
  void start_requester(const Attributes&) override {}
  void update(const Attributes&) override {}
  void drain() override {}
  void resume() override {}
  void flush() override {}
  void reset() override {}
  SendSlot reserve() override { return {}; }
  void commit() override {}
  std::uint32_t outstanding_sends() const override { return 0; }
  TimePoint deadline() const override { return kNever; }
  void expire(TimePoint) override {}
  bool in_error() const override { return false; }
  bool drained() const override { return true; }
  std::uint32_t send_psn() const override { return 0; }
  std::uint32_t receive_psn() const override { return 0; }

 private:
  Host& host_;
};

}  // namespace softrnic::ib
