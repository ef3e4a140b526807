#include "transport/iwarp/request_queue.h"

#include <bit>

#include "base/reason_id.h"

namespace softrnic::iwarp {
namespace {

using wire::RdmapOpcode;
using wire::RdmapOperation;

constexpr std::uint64_t kAllBits = ~std::uint64_t{0};
constexpr std::uint64_t kHighestBit = std::uint64_t{1} << 63;

// RFC 7306 5.1: masks divide a word or leave out bits of it, but for these.
bool whole_word(const wire::AtomicRequest& request) {
  if (request.code == static_cast<std::uint8_t>(wire::AtomicCode::fetch_add))
    return request.add_or_swap_mask == 0 || request.add_or_swap_mask == kHighestBit;
  return request.code == static_cast<std::uint8_t>(wire::AtomicCode::compare_swap) &&
         request.add_or_swap_mask == kAllBits && request.compare_mask == kAllBits;
}

}  // namespace

// A READ without bytes may tell that the initiator is ready, whatever IRD is.
void RequestQueue::start() {
  reset();
  const MpaAgreement& agreement = context_.agreement;
  limit_ = agreement.rtr == wire::kRtrRead && agreement.ird == 0 ? 1 : agreement.ird;
  ring_.resize(std::bit_ceil(std::max(limit_, 1U)));  // running numbers wrap
}

void RequestQueue::reset() {
  head_ = made_ = tail_ = offset_ = 0;
  due_ = response_msn_ = 1;
  refusal_.reset();
}

Verdict RequestQueue::begin(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info,
                            std::size_t payload) {
  info_ = &info;
  if (auto verdict = check_body(header, info, payload, due_); !verdict) return verdict;
  if (tail_ - head_ >= limit_)
    return {Fault::read_resources, because(ReasonId::iwarp_read_resources, limit_)};
  return {};
}

Verdict RequestQueue::end() {
  const bool read = info_->operation == RdmapOperation::read_request;
  return read ? take_read(wire::parse_read_request(body())) : take_atomic(wire::parse_atomic_request(body()));
}

bool RequestQueue::asks_for_nothing() const {
  return info_->operation == RdmapOperation::read_request && wire::parse_read_request(body()).size == 0;
}

Verdict RequestQueue::take_read(const wire::ReadRequest& read) {
  if (read.size > 0) {  // RFC 5040 5.2: no key is checked for a READ of no bytes
    const auto memory =
        context_.host.remote_memory(read.source, read.source_offset, read.size, ib::kRemoteRead);
    if (!memory) return {Fault::request, memory.error()};
  }
  at(tail_++) = {false, due_++, read, {}};
  return {};
}

Verdict RequestQueue::take_atomic(const wire::AtomicRequest& request) {
  const auto original = execute(request);
  if (!original) return original.error();
  at(tail_++) = {true, due_++, {}, {request.identifier, *original}};
  return {};
}

Expected<std::uint64_t, Verdict> RequestQueue::execute(const wire::AtomicRequest& request) {
  const auto refuse = [](Fault fault, const Reason& reason) { return Unexpected{Verdict{fault, reason}}; };
  if (!whole_word(request))
    return refuse(Fault::atomic, because(ReasonId::iwarp_atomic, request.code, request.add_or_swap_mask,
                                         request.compare_mask));
  if (request.offset % 8 != 0)
    return refuse(Fault::atomic, because(ReasonId::nak_atomic_alignment, request.offset));
  const auto memory = context_.host.remote_memory(request.stag, request.offset, 8, ib::kRemoteAtomic);
  if (!memory) return refuse(Fault::request, memory.error());
  if (reinterpret_cast<std::uintptr_t>(memory->at) % 8 != 0)
    return refuse(Fault::atomic, because(ReasonId::nak_atomic_alignment, request.offset));
  const bool adds = request.code == static_cast<std::uint8_t>(wire::AtomicCode::fetch_add);
  const ib::AtomicOperation operation{adds ? ib::AtomicKind::fetch_add : ib::AtomicKind::compare_swap,
                                      request.add_or_swap, request.compare};
  if (memory->on_demand) {
    const auto original = context_.host.execute_on_demand(memory->at, operation);
    if (original) return *original;
    return refuse(Fault::request, because(ReasonId::page_missing, 8, request.offset));
  }
  const auto done = context_.host.execute_atomic(reinterpret_cast<std::uint64_t*>(memory->at), operation);
  if (!done) return refuse(Fault::atomic, done.error());
  return *done;
}

bool RequestQueue::next_segment(TxSegment& out, std::size_t max_ulpdu) {
  if (made_ == tail_ || refusal_) return false;
  const Answer& answer = at(made_);
  out.kind = SegmentKind::response;
  out.index = made_;
  return answer.atomic ? make_atomic(out, answer) : make_read(out, answer, max_ulpdu);
}

bool RequestQueue::make_atomic(TxSegment& out, const Answer& answer) {
  wire::DdpHeader header = wire::ddp_header(RdmapOpcode::atomic_response);
  header.msn = response_msn_++;
  const std::size_t size = wire::encode(header, out.headers());
  wire::encode(answer.response, out.headers().subspan(size));
  out.head_bytes = static_cast<std::uint16_t>(wire::kFpduHeaderBytes + size + wire::kAtomicResponseBytes);
  out.last = true;
  ++made_;
  return true;
}

bool RequestQueue::make_read(TxSegment& out, const Answer& answer, std::size_t max_ulpdu) {
  const wire::ReadRequest& read = answer.read;
  const auto most = static_cast<std::uint32_t>(max_ulpdu - wire::kDdpTaggedBytes);
  const std::uint32_t size = std::min(most, read.size - offset_);
  if (size > 0) {
    const auto memory =
        context_.host.remote_memory(read.source, read.source_offset + offset_, size, ib::kRemoteRead);
    if (!memory) {
      refuse(memory.error(), answer);
      return false;
    }
  }
  wire::DdpHeader header = wire::ddp_header(RdmapOpcode::read_response);
  header.last = out.last = size == read.size - offset_;
  header.stag = read.sink;
  header.offset = read.sink_offset + offset_;
  out.head_bytes = static_cast<std::uint16_t>(wire::kFpduHeaderBytes + wire::encode(header, out.headers()));
  out.offset = offset_;
  out.payload = static_cast<std::uint16_t>(size);
  offset_ = out.last ? 0 : offset_ + size;
  made_ += out.last ? 1 : 0;
  return true;
}

void RequestQueue::refuse(const Reason& reason, const Answer& answer) {
  Refusal refusal{{Fault::request, reason}, {}};
  wire::DdpHeader header = wire::ddp_header(RdmapOpcode::read_request);
  header.msn = answer.msn;
  const std::size_t size = wire::encode(header, refusal.headers);
  wire::encode(answer.read, MutableBytes(refusal.headers).subspan(size));
  refusal_ = refusal;
}

std::optional<SegmentSource::Pieces> RequestQueue::payload(const TxSegment& segment, std::size_t from,
                                                           std::span<Bytes> out) {
  const wire::ReadRequest& read = at(segment.index).read;
  const std::size_t size = segment.payload - from;
  const auto memory = context_.host.remote_memory(read.source, read.source_offset + segment.offset + from,
                                                  size, ib::kRemoteRead);
  if (!memory) {
    refuse(memory.error(), at(segment.index));
    return std::nullopt;
  }
  out[0] = {memory->at, size};
  if (!memory->on_demand) return SegmentSource::Pieces{1, false};
  std::byte* const bounce = context_.host.bounce_buffer(size);
  if (bounce == nullptr || !context_.host.load(bounce, memory->at, size)) {
    refuse(because(ReasonId::page_missing, size, read.source_offset), at(segment.index));
    return std::nullopt;
  }
  out[0] = {bounce, size};
  return SegmentSource::Pieces{1, true};
}

void RequestQueue::segment_sent(const TxSegment& segment) {
  if (!segment.last) return;
  const Answer& answer = at(segment.index);
  if (!answer.atomic) context_.host.ended(ib::Counted::remote_read, true, answer.read.size);
  head_ = segment.index + 1;
}

}  // namespace softrnic::iwarp
