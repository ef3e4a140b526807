// What is left for the stream of a connection to do whose two ends are on one host, where messages take the
// ways of that host (docs/design/iwarp.md): each side says once that it is ready, and the end of the stream
// is that of the connection.
//
//   out   one byte: this side takes what comes. More bytes mean nothing, but TCP tells who is there
//   end   as a stream that carries FPDUs: in good order once all that was posted has been answered
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "transport/iwarp/context.h"
#include "transport/iwarp/stream_endpoint.h"

namespace softrnic::iwarp {

class Lifeline final : public StreamEndpoint {
 public:
  /// How often a peer that writes no more is asked whether it is there: a program that waits for what a dead
  /// one owes it hears of that soon, and a living one answers before.
  static constexpr Duration kProbeInterval = std::chrono::milliseconds(20);

  /// What of the connection goes another way.
  class Messages {
   public:
    /// Work requests of this side: how many there were, and how many of them are not done.
    virtual std::uint64_t posted() const = 0;
    virtual std::uint32_t outstanding() const = 0;
    /// Changes as they get on.
    virtual std::uint32_t progress() const = 0;

   protected:
    ~Messages() = default;
  };

  /// Both outlive it.
  Lifeline(ib::Host& host, const Messages& messages) : host_(host), messages_(messages) {}

  /// The peer takes messages.
  bool peer_ready() const { return peer_ready_; }
  /// Nothing more goes either way.
  bool ended() const { return ending_ != Ending::none; }
  /// To ERR: the connection ends at once.
  void give_up();
  /// Whether gather() or wish() has something for the stream.
  bool has_business() const { return byte_due_ || wish() != StreamWish::none; }
  TimePoint deadline() const { return std::min(deadline_, probe_at_); }
  void expire(TimePoint now);

  // ---- StreamEndpoint
  /// See also Endpoint::close().
  void close(TimePoint now) override;
  void receive(Bytes bytes, TimePoint now) override;
  MutableBytes room() override { return {}; }
  void filled(std::size_t, TimePoint) override {}
  bool waits() const override { return false; }
  void try_again(TimePoint) override {}
  std::size_t gather(std::span<Bytes> out, TimePoint now) override;
  void sent(std::size_t count, TimePoint now) override;
  StreamWish wish() const override;
  void shut_down_done(TimePoint now) override;
  void stream_ended(StreamEnd end, TimePoint now) override;
  Ending ending() const override { return ending_; }

 private:
  /// What was posted before the close is.
  bool done() const { return messages_.posted() - messages_.outstanding() >= last_; }
  void wait_for_end(TimePoint now);
  void lose(const Reason& reason);
  void finish(Ending ending);

  ib::Host& host_;
  const Messages& messages_;
  std::array<std::byte, 1> byte_{};
  std::uint64_t last_ = 0;      ///< so many had been posted when it was to close
  std::uint32_t progress_ = 0;  ///< when deadline_ was set
  TimePoint deadline_ = kNever;
  TimePoint probe_at_ = kNever;
  Ending ending_ = Ending::none;
  bool byte_due_ = true;  ///< to be written
  bool peer_ready_ = false;
  bool closing_ = false;
  bool shut_down_ = false;       ///< this side of the stream has ended
  bool peer_shut_down_ = false;  ///< and that of the peer
};

}  // namespace softrnic::iwarp
