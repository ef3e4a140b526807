#include "tests/sim/observer.h"

#include <algorithm>

#include "tests/sim/trace.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::sim {

namespace {

/// How long a requester waits at least until it asks by itself whether there is a receive.
constexpr Duration kCreditWait = std::chrono::milliseconds(4);

/// Whether `a` is at or after `b`, seen from nearby.
bool reaches(std::uint32_t a, std::uint32_t b) { return ((a - b) & wire::kPsnMask) < 0x800000; }

/// Whether one of the packets that `rx` stands for has this PSN.
bool covers(const ib::RxPacket& rx, std::uint32_t psn) {
  return ((psn - rx.packet.headers.bth.psn) & wire::kPsnMask) < rx.packets;
}

bool is_ack(const wire::Headers& headers) {
  return wire::syndrome_kind(headers.aeth.syndrome) == wire::SyndromeKind::ack;
}

}  // namespace

void Observer::owe_ack(std::uint32_t psn) {
  if (!ack_owed_ || reaches(psn, *ack_owed_)) ack_owed_ = psn;
}

void Observer::arriving(const ib::RxPacket& rx, std::uint32_t expected) {
  const wire::Packet& packet = rx.packet;
  const std::uint32_t psn = packet.headers.bth.psn;
  if (!packet.info->request) {
    const bool positive = packet.info->operation == wire::Operation::read_response || is_ack(packet.headers);
    // A NAK acknowledges what lies before it.
    if (reaches(positive ? psn + rx.packets - 1 : psn - 1, wait_psn_)) wait_until_ = {};
    return;
  }
  if (covers(rx, expected)) {
    nak_stands_ = nak_owed_ = postponed_ = false;
  } else if (reaches(psn, expected)) {
    nak_owed_ |= !nak_stands_ && !postponed_;
  }
}

void Observer::arrived(const ib::RxPacket& rx, std::uint32_t before, std::uint32_t expected) {
  const wire::Packet& packet = rx.packet;
  const wire::Bth& bth = packet.headers.bth;
  const auto operation = packet.info->operation;
  const bool plain = operation == wire::Operation::send || operation == wire::Operation::write;
  if (!packet.info->request || !plain || !bth.ack_request) return;
  const bool executed = covers(rx, before) && expected != before;
  const bool duplicate = !executed && bth.psn != before && !reaches(bth.psn, before);
  if (executed) owe_ack((bth.psn + rx.packets - 1) & wire::kPsnMask);
  if (duplicate) owe_ack(bth.psn);
}

std::string Observer::sending_request(const ib::TxPacket& packet, std::uint32_t mtu, TimePoint now) {
  const wire::Headers& h = packet.headers;
  const std::uint32_t psn = h.bth.psn;
  if (now < wait_until_) return "sends a request before the RNR delay is over";
  if (next_request_ && psn != *next_request_ && reaches(psn, *next_request_))
    return format("skips PSNs: %u follows %u", psn, *next_request_ - 1);
  std::uint32_t span = packet.packets;
  if (wire::opcode_info(h.bth.opcode).operation == wire::Operation::read_request)
    span = std::max(1U, (h.reth.length + mtu - 1) / mtu);
  const std::uint32_t next = (psn + span) & wire::kPsnMask;
  if (!next_request_ || psn == *next_request_) count_message(wire::opcode_info(h.bth.opcode), now);
  if (!next_request_ || reaches(next, *next_request_)) next_request_ = next;
  return "";
}

/// A WRITE with immediate counts with its last packet, as the first does not tell.
void Observer::count_message(const wire::OpcodeInfo& info, TimePoint now) {
  if (!first_request_) first_request_ = now;
  const bool send = info.operation == wire::Operation::send && info.starts();
  const bool write = info.operation == wire::Operation::write && info.has(wire::kImmDt);
  begun_ += send || write ? 1 : 0;
}

std::string Observer::exceeds_credit(std::uint64_t receives, TimePoint now) const {
  if (!first_request_) return "";
  const auto waits = static_cast<std::uint64_t>((now - *first_request_) / kCreditWait);
  if (begun_ <= receives + 1 + waits) return "";
  return format("begins %llu messages for %llu receives", static_cast<unsigned long long>(begun_),
                static_cast<unsigned long long>(receives));
}

std::string Observer::sending(const ib::TxPacket& packet, std::uint32_t expected, std::uint32_t mtu,
                              TimePoint now) {
  const wire::Headers& h = packet.headers;
  const wire::OpcodeInfo& info = wire::opcode_info(h.bth.opcode);
  if (info.request) return sending_request(packet, mtu, now);
  if (info.operation == wire::Operation::acknowledge && !is_ack(h)) {
    const bool sequence = h.aeth.syndrome == wire::kNakPsnSequence;
    if (sequence && h.bth.psn != expected)
      return format("asks for PSN %u but expects %u", h.bth.psn, expected);
    if (sequence && nak_stands_) return "asks a second time before the expected PSN came (IBTA 9.7.5)";
    // A copy of a READ was answered so, whose region has gone since: that asks for nothing.
    const bool asks = h.aeth.syndrome != wire::kNakRemoteAccess || h.bth.psn == expected;
    nak_stands_ |= asks;
    nak_owed_ &= !asks;
    ack_owed_.reset();  // a NAK acknowledges everything before it
    return "";
  }
  if (reaches(h.bth.psn + packet.packets - 1, expected))
    return format("acknowledges PSN %u but expects %u", h.bth.psn, expected);
  if (ack_owed_ && reaches(h.bth.psn, *ack_owed_)) ack_owed_.reset();
  return "";
}

std::string Observer::quiet() const {
  if (nak_owed_) return "has seen a gap and is silent about it";
  if (ack_owed_) return format("was asked to acknowledge PSN %u and does not", *ack_owed_);
  return "";
}

}  // namespace softrnic::sim
