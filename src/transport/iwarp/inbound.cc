#include "transport/iwarp/inbound.h"

#include <cstring>

#include "base/reason_id.h"
#include "transport/ib/rights.h"

namespace softrnic::iwarp {

using wire::RdmapOperation;

// The peer has given up in any case: nothing about it is refused.
Verdict TerminateTaker::begin(const wire::DdpHeader&, const wire::RdmapOpcodeInfo&, std::size_t payload) {
  payload_ = std::min(payload, bytes_.size());
  return {};
}

Expected<Place, Verdict> TerminateTaker::place(std::size_t offset, std::size_t most) {
  if (offset < bytes_.size()) return Place{{&bytes_[offset]}, std::min(most, bytes_.size() - offset)};
  return Place{{rest_.data()}, std::min(most, rest_.size())};
}

SegmentTaker* Inbound::taker_of(RdmapOperation operation) {
  // by RdmapOperation
  SegmentTaker* const takers[] = {&writes_,    &requests_, &answers_,  &receives_,
                                  &terminate_, &receives_, &requests_, &answers_};
  return takers[static_cast<std::size_t>(operation)];
}

bool Inbound::begin_segment(Bytes header, std::size_t payload) {
  info_ = nullptr;
  taker_ = nullptr;
  segment_have_ = header.size();
  segment_bytes_ = header.size() + payload;
  std::copy(header.begin(), header.end(), segment_.begin());
  const auto parsed = wire::parse_ddp(header);
  const Verdict verdict = parsed ? begin(*parsed, payload) : begin_empty();
  lacks_receive_ = patient_ && verdict.fault == Fault::no_receive;
  return verdict || (!lacks_receive_ && fail(verdict));
}

// RFC 6581 9 lets a ULPDU without bytes tell that the initiator is ready; it is nothing else.
Verdict Inbound::begin_empty() {
  if (ready_due() && context_.agreement.rtr == wire::kRtrSend) return {};
  return {Fault::segment, because(ReasonId::iwarp_segment, 0)};
}

// The next message tells that the initiator is ready (RFC 6581 9): of no bytes, it needs no right.
bool Inbound::ready_due() const {
  return !heard_ && context_.agreement.rtr != 0 && !context_.agreement.sends_rtr;
}

// Programs change rights at any time, and what has come of a segment by then does not count.
Verdict Inbound::check_right() const {
  // by RdmapOperation: what the segment is for the peer
  constexpr ib::SendOp kRequests[] = {ib::SendOp::write,     ib::SendOp::read, ib::SendOp::send,
                                      ib::SendOp::send,      ib::SendOp::send, ib::SendOp::send,
                                      ib::SendOp::fetch_add, ib::SendOp::send};
  const std::uint32_t needed = ib::needs_of(kRequests[static_cast<std::size_t>(info_->operation)]).access;
  const std::uint32_t access = context_.attributes.access;
  if ((needed & ~access) == 0) return {};
  return {info_->tagged ? Fault::tagged : Fault::request,
          because(ReasonId::iwarp_qp_access, access, needed, info_->opcode)};
}

Verdict Inbound::check(const wire::DdpHeader& header) {
  const Reason version = because(ReasonId::iwarp_version, header.ddp_version, header.rdmap_version);
  if (header.ddp_version != wire::kDdpVersion)
    return {header.tagged ? Fault::ddp_version_tagged : Fault::ddp_version_untagged, version};
  if (!header.tagged && header.queue >= wire::kDdpQueues)
    return {Fault::queue, because(ReasonId::iwarp_queue, header.queue, header.opcode)};
  if (header.rdmap_version != wire::kRdmapVersion) return {Fault::rdmap_version, version};
  info_ = wire::find_rdmap_opcode(header.opcode);
  if (info_ == nullptr || info_->tagged != header.tagged)
    return {Fault::opcode, because(ReasonId::iwarp_opcode, header.opcode)};
  if (!header.tagged && header.queue != static_cast<std::uint32_t>(info_->queue))
    return {Fault::queue, because(ReasonId::iwarp_queue, header.queue, header.opcode)};
  return {};
}

Verdict Inbound::begin(const wire::DdpHeader& header, std::size_t payload) {
  if (auto verdict = check(header); !verdict) return verdict;
  const bool ready = ready_due() && context_.agreement.rtr == wire::kRtrSend;
  if (ready && info_->operation == RdmapOperation::send && payload == 0 && header.last)
    return receives_.take_ready(header);
  SegmentTaker* const taker = taker_of(info_->operation);
  if (taker == &writes_ && !(ready_due() && payload == 0))
    if (auto verdict = check_right(); !verdict) return verdict;
  if (auto verdict = taker->begin(header, *info_, payload); !verdict) return verdict;
  taker_ = taker;
  return {};
}

// Whose memory it is that is gone: the program's own, or what a WRITE named.
Fault Inbound::gone() const {
  if (taker_ == &answers_) return Fault::sink_memory;
  return taker_ == &writes_ ? Fault::tagged : Fault::receive_memory;
}

// Memory with on-demand paging is written by the host alone, so that the payload goes elsewhere first.
MutableBytes Inbound::place(std::size_t offset, std::size_t most) {
  const Verdict right = taker_ == &writes_ ? check_right() : Verdict{};
  const auto found = right ? taker_->place(offset, most) : Expected<Place, Verdict>(Unexpected{right});
  if (!found) {
    fail(found.error());
    return {};
  }
  on_demand_ = {};
  if (!found->memory.on_demand) return {found->memory.at, found->size};
  elsewhere_ = context_.host.bounce_buffer(found->size);
  if (elsewhere_ == nullptr) {
    fail({Fault::receive_memory, because(ReasonId::out_of_memory, found->size)});
    return {};
  }
  on_demand_ = found->memory;
  return {elsewhere_, found->size};
}

bool Inbound::placed(std::size_t, std::size_t size) {
  if (!on_demand_.on_demand || context_.host.store(on_demand_.at, elsewhere_, size)) return true;
  return fail(
      {gone(), because(ReasonId::page_missing, size, reinterpret_cast<std::uintptr_t>(on_demand_.at))});
}

bool Inbound::end_segment() {
  if (taker_ != nullptr) {
    const Bytes body = taker_->body();
    std::copy(body.begin(), body.end(), segment_.begin() + static_cast<std::ptrdiff_t>(segment_have_));
    segment_have_ += body.size();
    const bool asks = taker_ == &requests_ && !(ready_due() && requests_.asks_for_nothing());
    if (const Verdict right = asks ? check_right() : Verdict{}; !right) return fail(right);
    if (const Verdict verdict = taker_->end(); !verdict) return fail(verdict);
  }
  context_.host.count(ib::Counter::rx_packets);
  context_.host.count(ib::Counter::rx_bytes, segment_bytes_ - segment_have_);
  heard_ = true;
  return !terminate_.message();
}

bool Inbound::fail(const Verdict& verdict) {
  if (!failure_) failure_ = verdict;
  return false;
}

void Inbound::reset() {
  receives_.reset();
  writes_.reset();
  answers_.reset();
  terminate_.reset();
  failure_.reset();
  info_ = nullptr;
  taker_ = nullptr;
  heard_ = false;
  patient_ = true;
  segment_have_ = segment_bytes_ = 0;
}

}  // namespace softrnic::iwarp
