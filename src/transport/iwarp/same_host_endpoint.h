// The transport of an iWARP queue pair whose peer is on the same host: InfiniBand's RC, which rings and the
// direct path are made for, with the stream of the connection as its lifeline (docs/design/iwarp.md, "On one
// host").
//
// Packets go in and out of rc(), bytes of the stream of lifeline(). Not thread-safe: the caller holds the
// lock of the lane.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "transport/ib/endpoint.h"
#include "transport/iwarp/lifeline.h"

namespace softrnic::iwarp {

class SameHostEndpoint final : public transport::Endpoint, private Lifeline::Messages {
 public:
  SameHostEndpoint(const ib::Capacity& capacity, Qpn local, ib::Host& host);

  /// Requests of the peer are taken from here on, and those of this side sent once the peer is ready.
  void start(const ib::Attributes& attributes, ib::PathWindow& window);
  /// lifeline() was called into: the peer may have become ready.
  void stream_moved();
  /// See Endpoint.
  void set_access(std::uint32_t access);
  /// As start() was told, but for the access.
  const ib::Attributes& attributes() const { return attributes_; }

  /// What Host::take_receive() came to. A message has as long as one of a stream until there is a receive for
  /// it, for which the peer asks by RNR NAKs; then the connection ends.
  void receive_taken() {
    ++received_;
    lacks_since_ = kNever;
  }
  void receive_lacks(TimePoint now);

  ib::Endpoint& rc() const { return *rc_; }
  Lifeline& lifeline() { return lifeline_; }
  const Lifeline& lifeline() const { return lifeline_; }

  // ---- transport::Endpoint
  void flush() override;
  void reset() override { rc_->reset(); }
  ib::SendSlot reserve() override { return rc_->reserve(); }
  void commit() override {
    ++posted_;
    rc_->commit();
  }
  std::uint32_t outstanding_sends() const override { return rc_->outstanding_sends(); }
  TimePoint deadline() const override { return std::min(rc_->deadline(), lifeline_.deadline()); }
  void expire(TimePoint now) override;
  bool in_error() const override { return rc_->in_error() || lifeline_.ended(); }
  bool drained() const override { return outstanding_sends() == 0; }
  const char* broken_invariant() const override { return rc_->broken_invariant(); }

 private:
  // Lifeline::Messages
  std::uint64_t posted() const override { return posted_; }
  std::uint32_t outstanding() const override { return outstanding_sends(); }
  std::uint32_t progress() const override { return rc_->send_psn() ^ outstanding_sends() << 24; }

  ib::Host& host_;
  std::unique_ptr<ib::Endpoint> rc_;
  Lifeline lifeline_;
  ib::Attributes attributes_;
  std::uint64_t posted_ = 0;
  bool requests_ = false;           ///< rc_ sends them
  std::uint64_t received_ = 0;      ///< messages for which there was a receive
  TimePoint lacks_since_ = kNever;  ///< a receive for the next one
};

}  // namespace softrnic::iwarp
