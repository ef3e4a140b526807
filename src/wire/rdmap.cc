#include "wire/rdmap.h"

#include <array>

#include "wire/iwarp_fields.h"

namespace softrnic::wire {
namespace {

using enum RdmapOpcode;
using Op = RdmapOperation;

constexpr DdpQueue kNoQueue = DdpQueue::send;

constexpr std::array<RdmapOpcodeInfo, 12> kOpcodes{{
    {write, "Write", Op::write, true, kNoQueue, 0},
    {read_request, "Read Request", Op::read_request, false, DdpQueue::request, kReadRequestBytes},
    {read_response, "Read Response", Op::read_response, true, kNoQueue, 0},
    {send, "Send", Op::send, false, DdpQueue::send, 0},
    {send_invalidate, "Send with Invalidate", Op::send, false, DdpQueue::send, 0, false, true},
    {send_solicited, "Send with SE", Op::send, false, DdpQueue::send, 0, true},
    {send_solicited_invalidate, "Send with SE and Invalidate", Op::send, false, DdpQueue::send, 0, true,
     true},
    {terminate, "Terminate", Op::terminate, false, DdpQueue::terminate, 0},
    {immediate, "Immediate Data", Op::immediate, false, DdpQueue::send, kImmediateBytes, false, false, true},
    {immediate_solicited, "Immediate Data with SE", Op::immediate, false, DdpQueue::send, kImmediateBytes,
     true, false, true},
    {atomic_request, "Atomic Request", Op::atomic_request, false, DdpQueue::request, kAtomicRequestBytes,
     false, false, true},
    {atomic_response, "Atomic Response", Op::atomic_response, false, DdpQueue::atomic_response,
     kAtomicResponseBytes, false, false, true},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kOpcodes.size(); ++i)
    if (static_cast<std::size_t>(kOpcodes[i].opcode) != i) return false;
  return true;
}
static_assert(in_order());

}  // namespace

const RdmapOpcodeInfo* find_rdmap_opcode(std::uint8_t raw) {
  return raw < kOpcodes.size() ? &kOpcodes[raw] : nullptr;
}

const RdmapOpcodeInfo& rdmap_opcode_info(RdmapOpcode opcode) {
  return kOpcodes[static_cast<std::size_t>(opcode)];
}

std::span<const RdmapOpcodeInfo> all_rdmap_opcodes() { return kOpcodes; }

ReadRequest parse_read_request(Bytes bytes) {
  using F = field::ReadRequest;
  const std::byte* const p = bytes.data();
  return {MemoryKey(F::SinkStag::load(p)), F::SinkOffset::load(p), F::Size::load(p),
          MemoryKey(F::SourceStag::load(p)), F::SourceOffset::load(p)};
}

void encode(const ReadRequest& request, MutableBytes out) {
  using F = field::ReadRequest;
  std::byte* const p = out.data();
  F::SinkStag::store(p, request.sink.value);
  F::SinkOffset::store(p, request.sink_offset);
  F::Size::store(p, request.size);
  F::SourceStag::store(p, request.source.value);
  F::SourceOffset::store(p, request.source_offset);
}

AtomicRequest parse_atomic_request(Bytes bytes) {
  using F = field::AtomicRequest;
  const std::byte* const p = bytes.data();
  const std::uint32_t first = F::Opcode::load(p);
  return {first >> 4,
          static_cast<std::uint8_t>(first & 0xf),
          F::Identifier::load(p),
          MemoryKey(F::Stag::load(p)),
          F::TaggedOffset::load(p),
          F::AddOrSwap::load(p),
          F::AddOrSwapMask::load(p),
          F::Compare::load(p),
          F::CompareMask::load(p)};
}

void encode(const AtomicRequest& request, MutableBytes out) {
  using F = field::AtomicRequest;
  std::byte* const p = out.data();
  F::Opcode::store(p, (request.reserved << 4) | (request.code & 0xfU));
  F::Identifier::store(p, request.identifier);
  F::Stag::store(p, request.stag.value);
  F::TaggedOffset::store(p, request.offset);
  F::AddOrSwap::store(p, request.add_or_swap);
  F::AddOrSwapMask::store(p, request.add_or_swap_mask);
  F::Compare::store(p, request.compare);
  F::CompareMask::store(p, request.compare_mask);
}

AtomicResponse parse_atomic_response(Bytes bytes) {
  using F = field::AtomicResponse;
  return {F::Identifier::load(bytes.data()), F::Original::load(bytes.data())};
}

void encode(const AtomicResponse& response, MutableBytes out) {
  using F = field::AtomicResponse;
  F::Identifier::store(out.data(), response.identifier);
  F::Original::store(out.data(), response.original);
}

ImmediateData parse_immediate(Bytes bytes) {
  using F = field::Immediate;
  return {F::Data::load(bytes.data()), F::Rest::load(bytes.data())};
}

void encode(const ImmediateData& immediate, MutableBytes out) {
  using F = field::Immediate;
  F::Data::store(out.data(), immediate.value);
  F::Rest::store(out.data(), immediate.rest);
}

}  // namespace softrnic::wire
