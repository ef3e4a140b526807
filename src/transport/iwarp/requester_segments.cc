// How the segments of each kind of request look.
#include "transport/iwarp/requester.h"

namespace softrnic::iwarp {
namespace {

using ib::SendOp;
using wire::RdmapOpcode;

std::uint16_t head_bytes(std::size_t headers) {
  return static_cast<std::uint16_t>(wire::kFpduHeaderBytes + headers);
}

/// A segment of headers alone: that of DDP, and one of `bytes` of a request.
template <typename Body>
void put_headers(TxSegment& out, const wire::DdpHeader& header, const Body& body, std::size_t bytes) {
  const std::size_t size = wire::encode(header, out.headers());
  wire::encode(body, out.headers().subspan(size));
  out.head_bytes = head_bytes(size + bytes);
}

// By whether it invalidates, and raises a solicited event.
constexpr RdmapOpcode kSends[2][2] = {{RdmapOpcode::send, RdmapOpcode::send_solicited},
                                      {RdmapOpcode::send_invalidate, RdmapOpcode::send_solicited_invalidate}};

}  // namespace

void Requester::make_message(ib::SendEntry& entry, TxSegment& out, std::size_t max_ulpdu) {
  const ib::SendWqe& wqe = entry.wqe;
  const bool write = wqe.op == SendOp::write || wqe.op == SendOp::write_with_imm;
  const bool invalidates = wqe.op == SendOp::send_with_invalidate;
  wire::DdpHeader header = wire::ddp_header(write ? RdmapOpcode::write : kSends[invalidates][wqe.solicited]);
  const auto most = static_cast<std::uint32_t>(max_ulpdu - wire::ddp_bytes(header));
  const std::uint32_t size = std::min(most, wqe.length - offset_);
  header.last = size == wqe.length - offset_;
  if (write) {
    header.stag = wqe.rkey;
    header.offset = wqe.remote_address + offset_;
  } else {
    header.ulp = invalidates ? wqe.immediate : 0;
    header.msn = send_msn_;
    header.message_offset = offset_;
  }
  out.head_bytes = head_bytes(wire::encode(header, out.headers()));
  out.offset = offset_;
  out.payload = static_cast<std::uint16_t>(size);
  offset_ += size;
  if (!header.last) return;
  send_msn_ += write ? 0 : 1;
  immediate_due_ = wqe.op == SendOp::write_with_imm;
  offset_ = 0;
  if (!immediate_due_) message_made(out);
}

// RFC 7306 6: what a WRITE with immediate data comes to.
void Requester::make_immediate(const ib::SendEntry& entry, TxSegment& out) {
  const bool solicited = entry.wqe.solicited;
  wire::DdpHeader header =
      wire::ddp_header(solicited ? RdmapOpcode::immediate_solicited : RdmapOpcode::immediate);
  header.msn = send_msn_++;
  put_headers(out, header, wire::ImmediateData{entry.wqe.immediate, 0}, wire::kImmediateBytes);
  immediate_due_ = false;
  message_made(out);
}

// RFC 5040 4.4: the sink is named by the key of its SGE. Without one it is not used.
void Requester::make_read(const ib::SendEntry& entry, TxSegment& out) {
  const auto sinks = queue_.sges(entry);
  wire::ReadRequest read;
  if (!sinks.empty()) {
    read.sink = sinks[0].lkey;
    read.sink_offset = sinks[0].address;
  }
  read.size = entry.wqe.length;
  read.source = entry.wqe.rkey;
  read.source_offset = entry.wqe.remote_address;
  wire::DdpHeader header = wire::ddp_header(RdmapOpcode::read_request);
  header.msn = request_msn_++;
  put_headers(out, header, read, wire::kReadRequestBytes);
  ++answers_due_;
  message_made(out);
}

void Requester::make_atomic(const ib::SendEntry& entry, TxSegment& out) {
  const ib::SendWqe& wqe = entry.wqe;
  const bool adds = wqe.op == SendOp::fetch_add;
  const std::uint64_t mask = adds ? 0 : ~std::uint64_t{0};  // the whole word
  wire::AtomicRequest request;
  request.code =
      static_cast<std::uint8_t>(adds ? wire::AtomicCode::fetch_add : wire::AtomicCode::compare_swap);
  request.identifier = request_msn_;
  request.stag = wqe.rkey;
  request.offset = wqe.remote_address;
  request.add_or_swap = wqe.swap_or_add;
  request.add_or_swap_mask = request.compare_mask = mask;
  request.compare = adds ? 0 : wqe.compare;
  wire::DdpHeader header = wire::ddp_header(RdmapOpcode::atomic_request);
  header.msn = request_msn_++;
  put_headers(out, header, request, wire::kAtomicRequestBytes);
  ++answers_due_;
  message_made(out);
}

void Requester::message_made(TxSegment& out) {
  out.last = true;
  ++next_;
}

// RFC 6581 9: a message without bytes, which names no memory.
void Requester::make_ready(std::uint8_t rtr, TxSegment& out) {
  out.kind = SegmentKind::ready;
  out.last = true;
  const RdmapOpcode opcode = rtr == wire::kRtrWrite  ? RdmapOpcode::write
                             : rtr == wire::kRtrRead ? RdmapOpcode::read_request
                                                     : RdmapOpcode::send;
  wire::DdpHeader header = wire::ddp_header(opcode);
  if (opcode == RdmapOpcode::read_request) header.msn = request_msn_++;
  if (opcode == RdmapOpcode::send) header.msn = send_msn_++;
  ready_awaited_ = opcode == RdmapOpcode::read_request;
  if (ready_awaited_) return put_headers(out, header, wire::ReadRequest{}, wire::kReadRequestBytes);
  out.head_bytes = head_bytes(wire::encode(header, out.headers()));
}

}  // namespace softrnic::iwarp
