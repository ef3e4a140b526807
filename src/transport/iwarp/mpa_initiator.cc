#include "transport/iwarp/mpa_initiator.h"

#include <algorithm>

#include "base/reason_id.h"
#include "wire/terminate.h"

namespace softrnic::iwarp {

using wire::TerminateError;
MpaInitiator::MpaInitiator(const MpaOptions& options, Bytes private_data, TimePoint now)
    : options_(options), deadline_(now + options.timeout) {
  wire::MpaFrame request{wire::MpaFrameKind::request};
  request.markers = options.receive_markers;
  request.crc = options.crc;
  request.long_fpdus = options.long_fpdus;
  request.extensions = options.extensions;
  request.revision = options.revision;
  wire::MpaEnhanced enhanced;
  enhanced.ird = options.ird;
  enhanced.ord = options.ord;
  enhanced.peer_to_peer = options.peer_to_peer;
  enhanced.rtr = options.peer_to_peer ? options.rtr : std::uint8_t{0};
  output_.add(request, enhanced, private_data);
}

std::size_t MpaInitiator::receive(Bytes bytes) {
  if (state_ != State::waiting) return 0;
  const auto taken = reader_.take(bytes);
  if (!taken) {
    fail(taken.error());
    return bytes.size();
  }
  if (reader_.whole()) read_reply();
  return *taken;
}

void MpaInitiator::read_reply() {
  const wire::MpaFrame& reply = reader_.frame();
  if (reply.revision > options_.revision)
    return fail(because(ReasonId::mpa_revision, reply.kind, reply.revision, 0, options_.revision));
  if (reply.reject) {
    state_ = State::rejected;
    return;
  }
  agreement_.revision = reader_.enhanced() ? reply.revision : std::uint8_t{1};
  agreement_.crc = options_.crc || reply.crc;  // either side's wish (RFC 5044 7.1.1)
  agreement_.markers_in = options_.receive_markers;
  agreement_.markers_out = reply.markers;
  agreement_.long_fpdus = options_.long_fpdus && reply.long_fpdus;
  agreement_.extensions = options_.extensions && reply.extensions;
  agreement_.ird = options_.ird;
  agreement_.ord = options_.ord;
  if (reader_.enhanced() && !negotiate(reader_.enhanced_data())) return;
  state_ = State::established;
}

// RFC 6581 9.1: the reply's IRD bounds what this side may have under way, and its ORD may not exceed what
// this side takes. No limit means that the peer leaves that to its program.
bool MpaInitiator::negotiate(const wire::MpaEnhanced& reply) {
  if (reply.ird != wire::kMpaNoLimit) agreement_.ord = std::min(agreement_.ord, reply.ird);
  if (reply.ord != wire::kMpaNoLimit && reply.ord > options_.ird) {
    fail(because(ReasonId::mpa_ird, reply.ord, options_.ird));
    send_terminate(reader_.frame(), static_cast<std::uint16_t>(TerminateError::mpa_insufficient_ird));
    return false;
  }
  return !options_.peer_to_peer || agree_on_rtr(reply);
}

// The responder has told which messages will do.
bool MpaInitiator::agree_on_rtr(const wire::MpaEnhanced& reply) {
  agreement_.rtr = preferred_rtr(reply.peer_to_peer ? options_.rtr & reply.rtr : 0);
  agreement_.sends_rtr = agreement_.rtr != 0;
  if (agreement_.sends_rtr) return true;
  fail(because(ReasonId::mpa_rtr, reply.rtr, options_.rtr));
  send_terminate(reader_.frame(), static_cast<std::uint16_t>(TerminateError::mpa_no_matching_rtr));
  return false;
}

void MpaInitiator::stream_ended() {
  if (state_ != State::waiting) return;
  fail(because(ReasonId::mpa_stream_ended, wire::MpaFrameKind::reply, reader_.taken()));
  if (reader_.taken() == 0 && options_.revision > 1) state_ = State::refused;
}

void MpaInitiator::expire(TimePoint now) {
  if (now >= deadline()) fail(mpa_timed_out(wire::MpaFrameKind::reply, options_.timeout));
}

void MpaInitiator::fail(const Reason& reason) {
  state_ = State::failed;
  reason_ = reason;
}

// With the reply FPDUs have begun, so that a Terminate message can say why (RFC 6581 9).
void MpaInitiator::send_terminate(const wire::MpaFrame& reply, std::uint16_t error) {
  std::array<std::byte, wire::kDdpUntaggedBytes + wire::kTerminateControlBytes> ulpdu;
  wire::DdpHeader header = wire::ddp_header(wire::RdmapOpcode::terminate);
  header.msn = 1;
  wire::encode(header, ulpdu);
  wire::Terminate message;
  message.error = error;
  wire::encode(message, MutableBytes(ulpdu).subspan(wire::kDdpUntaggedBytes));
  output_.add_fpdu(ulpdu, options_.crc || reply.crc, reply.markers);
}

}  // namespace softrnic::iwarp
