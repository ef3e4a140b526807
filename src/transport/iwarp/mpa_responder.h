// Sets a connection up from the side that TCP has accepted (RFC 5044 7.1, RFC 6581): a state machine
// without I/O, driven like MpaInitiator.
#pragma once

#include "transport/iwarp/mpa_frame_io.h"
#include "transport/iwarp/mpa_options.h"

namespace softrnic::iwarp {

class MpaResponder {
 public:
  enum class State : std::uint8_t {
    waiting,      ///< for the request
    requested,    ///< the program is to accept() or to reject(); private_data() and peer_…() hold
    established,  ///< agreement() holds as soon as output() is written
    rejected,     ///< by this side; the stream ends when output() is written
    failed,       ///< reason(); output() may have a reply that tells so
  };

  /// `accepted`: when TCP had the connection.
  MpaResponder(const MpaOptions& options, TimePoint accepted)
      : options_(options), deadline_(accepted + options.timeout) {}

  State state() const { return state_; }
  Bytes output() const { return output_.unsent(); }
  void sent(std::size_t count) { output_.sent(count); }
  /// Who reads no more than this takes nothing that belongs to the FPDUs. Requested: a peer that sends before
  /// it is answered shows itself by its first byte.
  std::size_t wanted() const {
    if (state_ == State::requested) return 1;
    return state_ == State::waiting ? reader_.missing() : 0;
  }
  /// How many of `bytes` were taken: all of them, unless established.
  std::size_t receive(Bytes bytes);
  void stream_ended();
  TimePoint deadline() const { return state_ == State::waiting ? deadline_ : kNever; }
  void expire(TimePoint now);

  // ---- of a request
  Bytes private_data() const { return reader_.private_data(); }
  std::uint8_t revision() const { return reader_.enhanced() ? reader_.frame().revision : std::uint8_t{1}; }
  /// What the peer says of itself; wire::kMpaNoLimit: nothing.
  std::uint16_t peer_ird() const {
    return reader_.enhanced() ? reader_.enhanced_data().ird : wire::kMpaNoLimit;
  }
  std::uint16_t peer_ord() const {
    return reader_.enhanced() ? reader_.enhanced_data().ord : wire::kMpaNoLimit;
  }

  /// In state requested: what the program gives and wants. Error: `private_data` are too long.
  Expected<void, Reason> accept(std::uint16_t ird, std::uint16_t ord, Bytes private_data);
  Expected<void, Reason> reject(Bytes private_data);

  const MpaAgreement& agreement() const { return agreement_; }
  const Reason& reason() const { return reason_; }

 private:
  void read_request();
  wire::MpaFrame reply() const;
  void fail(const Reason& reason);
  std::uint8_t chosen_rtr(const wire::MpaEnhanced& request) const;

  MpaOptions options_;
  State state_ = State::waiting;
  TimePoint deadline_;
  MpaFrameReader reader_{wire::MpaFrameKind::request};
  MpaOutput output_;
  MpaAgreement agreement_;
  Reason reason_;
};

}  // namespace softrnic::iwarp
