// Sets a connection up from the side that has made the TCP connection (RFC 5044 7.1, RFC 6581): a state
// machine without I/O.
//
//   output(), sent()   bytes to the stream
//   receive()          bytes from the stream; what is behind the reply belongs to the FPDUs
//   deadline()         when expire() wants to be called
//   state()            where it stands after each call
#pragma once

#include "transport/iwarp/mpa_frame_io.h"
#include "transport/iwarp/mpa_options.h"

namespace softrnic::iwarp {

class MpaInitiator {
 public:
  enum class State : std::uint8_t {
    waiting,      ///< for the reply
    established,  ///< agreement() holds, and private_data() those of the reply
    rejected,     ///< by the peer's program; private_data() likewise
    /// The peer ended the connection without a word. So does one that does not know revision 2 (RFC 5044
    /// 7.1.2, RFC 6581 10): a new TCP connection may be tried with MpaOptions::revision 1.
    refused,
    failed,  ///< reason(); output() may have a Terminate message that is to be written before the end
  };

  /// `private_data` passes check_private_data().
  MpaInitiator(const MpaOptions& options, Bytes private_data, TimePoint now);

  State state() const { return state_; }
  Bytes output() const { return output_.unsent(); }
  void sent(std::size_t count) { output_.sent(count); }
  /// Who reads no more than this takes nothing that belongs to the FPDUs.
  std::size_t wanted() const { return state_ == State::waiting ? reader_.missing() : 0; }
  /// How many of `bytes` were taken: in state waiting all of them.
  std::size_t receive(Bytes bytes);
  /// The peer has ended the stream, or it broke.
  void stream_ended();
  TimePoint deadline() const { return state_ == State::waiting ? deadline_ : kNever; }
  void expire(TimePoint now);

  const MpaAgreement& agreement() const { return agreement_; }
  Bytes private_data() const { return reader_.private_data(); }
  const Reason& reason() const { return reason_; }

 private:
  void read_reply();
  bool negotiate(const wire::MpaEnhanced& reply);
  bool agree_on_rtr(const wire::MpaEnhanced& reply);
  void fail(const Reason& reason);
  void send_terminate(wire::MpaFrame const& reply, std::uint16_t error);

  MpaOptions options_;
  State state_ = State::waiting;
  TimePoint deadline_;
  MpaFrameReader reader_{wire::MpaFrameKind::reply};
  MpaOutput output_;
  MpaAgreement agreement_;
  Reason reason_;
};

}  // namespace softrnic::iwarp
