#include "fabric/management_datagram.h"

#include <algorithm>
#include <utility>

#include "wire/infiniband_frame.h"

namespace softrnic::fabric {
namespace {

constexpr std::uint8_t kHopLimit = 64;

}  // namespace

Expected<Datagram, DatagramError> read_datagram(Bytes packet) {
  // Parsers of frames expect a VCRC, which packets in the fabric do not have.
  std::array<std::byte, kMaxDatagramBytes + wire::kVcrcBytes> frame{};
  if (packet.size() > kMaxDatagramBytes) return Unexpected{DatagramError::bad_frame};
  std::ranges::copy(packet, frame.begin());
  const Bytes whole = Bytes(frame).first(packet.size() + wire::kVcrcBytes);
  const auto parsed = wire::parse_infiniband_frame(whole);
  if (!parsed) return Unexpected{DatagramError::bad_frame};
  const wire::Headers& headers = parsed->packet.headers;
  if (headers.bth.opcode != wire::Opcode::ud_send_only) return Unexpected{DatagramError::not_send_only};
  if (parsed->packet.payload.size() != mad::kMadBytes) return Unexpected{DatagramError::not_a_mad};
  if (!wire::has_right_icrc(whole)) return Unexpected{DatagramError::bad_icrc};
  Datagram datagram;
  datagram.slid = parsed->route.local.slid;
  datagram.dlid = parsed->route.local.dlid;
  datagram.sl = parsed->route.local.sl;
  datagram.vl = parsed->route.local.vl;
  datagram.grh = parsed->route.global;
  datagram.p_key = headers.bth.pkey;
  datagram.source = headers.deth.source;
  datagram.destination = headers.bth.destination;
  datagram.q_key = headers.deth.qkey;
  std::ranges::copy(parsed->packet.payload, datagram.mad.begin());
  return datagram;
}

DatagramPacket::DatagramPacket(const Datagram& datagram, std::uint32_t psn)
    : is_management_(datagram.destination == kSmiQpn) {
  wire::RouteHeaders route;
  route.local.vl = is_management_ ? wire::kManagementVl : std::uint8_t{0};
  route.local.sl = datagram.sl;
  route.local.slid = datagram.slid;
  route.local.dlid = datagram.dlid;
  route.global = datagram.grh;
  wire::Headers headers;
  headers.bth.opcode = wire::Opcode::ud_send_only;
  headers.bth.pkey = datagram.p_key;
  headers.bth.destination = datagram.destination;
  headers.bth.psn = psn & wire::kPsnMask;
  headers.deth.qkey = datagram.q_key;
  headers.deth.source = datagram.source;
  const Bytes payload[] = {datagram.mad};
  const std::size_t written = wire::encode_infiniband_frame(route, headers, payload, bytes_);
  size_ = written < wire::kVcrcBytes ? 0 : written - wire::kVcrcBytes;
}

Datagram answer_to(const Datagram& asked, wire::Lid own_lid) {
  Datagram answer;
  answer.slid = asked.dlid.is_unicast() ? asked.dlid : own_lid;
  answer.dlid = asked.slid;
  answer.sl = asked.sl;
  answer.p_key = asked.p_key;
  answer.source = asked.destination;
  answer.destination = asked.source;
  if (asked.destination == kGsiQpn) answer.q_key = kGsiQkey;
  if (asked.grh) {
    answer.grh = asked.grh;
    answer.grh->hop_limit = kHopLimit;
    std::swap(answer.grh->sgid, answer.grh->dgid);
  }
  return answer;
}

}  // namespace softrnic::fabric
