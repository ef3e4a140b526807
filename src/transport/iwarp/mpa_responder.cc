#include "transport/iwarp/mpa_responder.h"

#include <algorithm>

#include "base/reason_id.h"

namespace softrnic::iwarp {

using wire::MpaFrameKind;
// The initiator may send nothing before it has the reply (RFC 5044 7.1.2).
std::size_t MpaResponder::receive(Bytes bytes) {
  if (state_ == State::established) return 0;
  if (state_ == State::waiting) {
    const auto taken = reader_.take(bytes);
    if (!taken) {
      fail(taken.error());
      return bytes.size();
    }
    if (reader_.whole()) read_request();
    bytes = bytes.subspan(*taken);
    if (bytes.empty() || state_ != State::requested) return *taken + bytes.size();
    fail(because(ReasonId::mpa_early_data, bytes.size()));
    return *taken + bytes.size();
  }
  if (state_ == State::requested && !bytes.empty()) fail(because(ReasonId::mpa_early_data, bytes.size()));
  return bytes.size();
}

// A peer with a later revision is left without a reply, by which it sees that it has to come with an
// earlier one (RFC 5044 7.1.2).
void MpaResponder::read_request() {
  const wire::MpaFrame& request = reader_.frame();
  if (request.revision > options_.revision)
    return fail(because(ReasonId::mpa_revision, request.kind, request.revision, 0, options_.revision));
  state_ = State::requested;
}

wire::MpaFrame MpaResponder::reply() const {
  const wire::MpaFrame& request = reader_.frame();
  wire::MpaFrame reply{MpaFrameKind::reply};
  reply.markers = options_.receive_markers;
  reply.crc = options_.crc || request.crc;
  reply.long_fpdus = options_.long_fpdus && request.long_fpdus;
  reply.extensions = options_.extensions && request.extensions;
  reply.revision = reader_.enhanced() ? request.revision : std::uint8_t{1};
  return reply;
}

// As siw does, a WRITE is proposed to a peer that has proposed nothing known.
std::uint8_t MpaResponder::chosen_rtr(const wire::MpaEnhanced& request) const {
  const std::uint8_t common = preferred_rtr(options_.rtr & request.rtr);
  return common != 0 ? common : std::uint8_t{wire::kRtrWrite};
}

Expected<void, Reason> MpaResponder::accept(std::uint16_t ird, std::uint16_t ord, Bytes private_data) {
  wire::MpaFrame frame = reply();
  if (auto fits = check_private_data(private_data, frame.revision); !fits) return fits;
  agreement_.revision = frame.revision;
  agreement_.crc = frame.crc;
  agreement_.markers_in = options_.receive_markers;
  agreement_.markers_out = reader_.frame().markers;
  agreement_.long_fpdus = frame.long_fpdus;
  agreement_.extensions = frame.extensions;
  agreement_.ird = ird;
  agreement_.ord = ord;
  agreement_.waits_for_peer = options_.responder_waits;
  wire::MpaEnhanced enhanced;
  if (reader_.enhanced()) {
    const wire::MpaEnhanced request = reader_.enhanced_data();
    // RFC 6581 9.1: no more than the peer takes, and told no more than the peer will use
    if (request.ird != wire::kMpaNoLimit) agreement_.ord = std::min(ord, request.ird);
    if (request.ord != wire::kMpaNoLimit) agreement_.ird = std::min(ird, request.ord);
    enhanced.peer_to_peer = request.peer_to_peer;
    enhanced.rtr = request.peer_to_peer ? chosen_rtr(request) : std::uint8_t{0};
    agreement_.rtr = enhanced.rtr;
    if (request.peer_to_peer) agreement_.waits_for_peer = WaitForPeer::always;
  }
  enhanced.ird = agreement_.ird;
  enhanced.ord = agreement_.ord;
  output_.add(frame, enhanced, private_data);
  state_ = State::established;
  return {};
}

Expected<void, Reason> MpaResponder::reject(Bytes private_data) {
  wire::MpaFrame frame = reply();
  if (auto fits = check_private_data(private_data, frame.revision); !fits) return fits;
  frame.reject = true;
  wire::MpaEnhanced enhanced;
  if (reader_.enhanced()) {
    enhanced.ird = reader_.enhanced_data().ord;
    enhanced.ord = reader_.enhanced_data().ird;
  }
  output_.add(frame, enhanced, private_data);
  state_ = State::rejected;
  return {};
}

void MpaResponder::stream_ended() {
  if (state_ == State::waiting || state_ == State::requested)
    fail(because(ReasonId::mpa_stream_ended, MpaFrameKind::request, reader_.taken()));
}

void MpaResponder::expire(TimePoint now) {
  if (now >= deadline()) fail(mpa_timed_out(MpaFrameKind::request, options_.timeout));
}

void MpaResponder::fail(const Reason& reason) {
  state_ = State::failed;
  reason_ = reason;
}

}  // namespace softrnic::iwarp
