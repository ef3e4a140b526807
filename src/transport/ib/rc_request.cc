#include "transport/ib/rc_request.h"

#include "transport/ib/outbound.h"

namespace softrnic::ib {
namespace {

// Bytes one READ request asks for at least, if there are as many
constexpr std::uint32_t kSmallestChunk = 16 * 1024;

Expected<void, Reason> build_message(const EndpointContext& context, const SendQueue& queue,
                                     const SendEntry& entry, Psn psn, Psn stop, SgeCursor& cursor,
                                     TxPacket& out) {
  const SendWqe& wqe = entry.wqe;
  const std::uint32_t mtu = context.attributes.path_mtu;
  const bool last = stop == entry.end;
  begin_request(out, context.attributes, rc_opcodes(wqe.op).at(psn == entry.first, last), psn, wqe);
  out.headers.reth = {wqe.remote_address, wqe.rkey, wqe.length};
  if (last) {
    out.headers.bth.solicited = wqe.solicited && takes_receive(wqe.op);  // IBTA 9.2.3
    out.headers.immediate = wqe.immediate;
    out.headers.invalidate = MemoryKey(wqe.immediate);
  }
  out.packets = static_cast<std::uint32_t>(stop - psn);
  return add_payload(context.host, queue, entry, offset_of(entry, psn, mtu), out.packets * mtu, cursor, out);
}

}  // namespace

RequestExtent extent_of(const SendWqe& wqe, const EndpointContext& context) {
  const std::uint32_t mtu = context.attributes.path_mtu;
  RequestExtent extent;
  if (!is_answered(wqe.op) || wqe.op == SendOp::read) extent.packets = packets_of(wqe.length, mtu);
  if (wqe.op == SendOp::read && context.window != nullptr) {
    const std::uint32_t share = context.window->window() / (context.attributes.max_reads_out >= 4 ? 4 : 2);
    extent.chunk = std::max(share, kSmallestChunk) / mtu;
  }
  return extent;
}

Expected<void, Reason> build_request(const EndpointContext& context, const SendQueue& queue,
                                     const SendEntry& entry, Psn psn, Psn stop, SgeCursor& cursor,
                                     TxPacket& out) {
  const SendWqe& wqe = entry.wqe;
  if (wqe.op == SendOp::read) {
    const std::uint32_t mtu = context.attributes.path_mtu;
    const std::uint32_t offset = offset_of(entry, psn, mtu);
    begin_request(out, context.attributes, wire::Opcode::rc_read_request, psn, wqe);
    out.headers.reth = {wqe.remote_address + offset, wqe.rkey, offset_of(entry, stop, mtu) - offset};
    return {};
  }
  if (is_atomic(wqe.op)) {
    begin_request(out, context.attributes, rc_opcodes(wqe.op).only, psn, wqe);
    out.headers.atomic = {wqe.remote_address, wqe.rkey, wqe.swap_or_add, wqe.compare};
    return {};
  }
  if (wqe.op == SendOp::flush) {
    begin_request(out, context.attributes, rc_opcodes(wqe.op).only, psn, wqe);
    out.headers.flush_selector = static_cast<std::uint32_t>(wqe.swap_or_add);
    out.headers.reth = {wqe.remote_address, wqe.rkey, static_cast<std::uint32_t>(wqe.compare)};
    return {};
  }
  return build_message(context, queue, entry, psn, stop, cursor, out);
}

}  // namespace softrnic::ib
