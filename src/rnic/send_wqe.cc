#include "rnic/send_wqe.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "base/hot_path.h"
#include "rnic/address_handle.h"
#include "rnic/key_table.h"
#include "rnic/memory_window.h"
#include "rnic/work_requests.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint32_t kUseOwnQkey = 0x80000000;  // IBTA 10.2.5: the Q_Key of the QP goes out instead

void fill_inline(ib::SendSlot& slot, const ibv_send_wr& wr) {
  std::byte* to = slot.inline_data.data();
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& from = wr.sg_list[i];
    if (from.length == 0) continue;
    std::memcpy(to, reinterpret_cast<const void*>(from.addr), from.length);
    to += from.length;
    slot.wqe->length += from.length;
  }
  slot.wqe->is_inline = true;
}

void fill_sges(ib::SendSlot& slot, const ibv_send_wr& wr) {
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& from = wr.sg_list[i];
    slot.sges[static_cast<std::size_t>(i)] = {from.addr, from.length, MemoryKey(from.lkey)};
    slot.wqe->length += from.length;
  }
  slot.wqe->sge_count = static_cast<std::uint16_t>(wr.num_sge);
}

/// Of atomics: what there is beyond a word is left as it is.
SOFTRNIC_OUT_OF_LINE void cut_to_word(ib::SendSlot& slot) {
  std::uint32_t left = kWordBytes;
  for (std::size_t i = 0; i < slot.wqe->sge_count; ++i) {
    slot.sges[i].length = std::min(slot.sges[i].length, left);
    left -= slot.sges[i].length;
  }
  slot.wqe->length = kWordBytes;
}

/// What LOCAL_INV, BIND_MW and SEND_WITH_INV do to a window, and what a FLUSH is for.
SOFTRNIC_OUT_OF_LINE void fill_seldom(ib::SendWqe& wqe, const ibv_send_wr& wr) {
  if (wqe.op == ib::SendOp::flush) {
    wqe.remote_address = wr.wr.atomic.remote_addr;
    wqe.rkey = MemoryKey(wr.wr.atomic.rkey);
    wqe.compare = wr.wr.atomic.compare_add;
    wqe.swap_or_add = wr.wr.atomic.swap;
  }
  if (wqe.op == ib::SendOp::send_with_invalidate) wqe.immediate = wr.invalidate_rkey;
  if (wqe.op == ib::SendOp::local_invalidate) wqe.rkey = MemoryKey(wr.invalidate_rkey);
  if (wqe.op != ib::SendOp::bind_window) return;
  const ibv_mw_bind_info& info = wr.bind_mw.bind_info;
  ibv_mw& window = *wr.bind_mw.mw;
  window.rkey = KeyTable::with_tag(MemoryKey(window.rkey), wr.bind_mw.rkey).value;
  const WindowBind bind{MemoryKey(window.rkey), MemoryKey(info.mr == nullptr ? 0 : info.mr->lkey), info.addr,
                        info.length, info.mw_access_flags};
  bind.put(wqe);
}

// UD and XRC: where it is for, besides what the QP is connected to.
void fill_destination(ib::SendWqe& wqe, const ibv_send_wr& wr, const SendDefaults& defaults) {
  if (defaults.type == IBV_QPT_XRC_SEND) {
    wqe.remote_srqn = wr.qp_type.xrc.remote_srqn & wire::kPsnMask;
    return;
  }
  const auto& to = wr.wr.ud;
  wqe.address = static_cast<const AddressHandle*>(to.ah)->vector();
  wqe.remote_qpn = Qpn(to.remote_qpn & wire::kPsnMask);
  wqe.remote_qkey = (to.remote_qkey & kUseOwnQkey) != 0 ? defaults.qkey : to.remote_qkey;
  if (wqe.address.source_port == 0) wqe.address.source_port = source_port(0, defaults.qpn, wqe.remote_qpn);
}

}  // namespace

void fill_send(ib::SendSlot& slot, const ibv_send_wr& wr, const SendDefaults& defaults) {
  const SendRules& rules = *send_rules(wr.opcode);
  ib::SendWqe& wqe = *slot.wqe;
  wqe.wr_id = wr.wr_id;
  wqe.op = static_cast<ib::SendOp>(wr.opcode);
  wqe.signaled = defaults.signal_all || (wr.send_flags & IBV_SEND_SIGNALED) != 0;
  wqe.solicited = (wr.send_flags & IBV_SEND_SOLICITED) != 0;
  wqe.fence = (wr.send_flags & IBV_SEND_FENCE) != 0;
  wqe.fills_checksums = (wr.send_flags & IBV_SEND_IP_CSUM) != 0;
  // It fails in its turn: the union of the request's fields has in it what the program wanted of another
  // type.
  if (!knows(defaults.type, rules)) [[unlikely]]
    return;
  if (rules.has_immediate) wqe.immediate = ntohl(wr.imm_data);
  if (wqe.op >= ib::SendOp::local_invalidate) [[unlikely]]
    fill_seldom(wqe, wr);
  if (wqe.op == ib::SendOp::tso) [[unlikely]] {
    std::memcpy(slot.header.data(), wr.tso.hdr, wr.tso.hdr_sz);
    wqe.header_bytes = wr.tso.hdr_sz;
    wqe.segment_bytes = wr.tso.mss;
  }
  if (rules.has_remote_memory) {
    wqe.remote_address = wr.wr.rdma.remote_addr;
    wqe.rkey = MemoryKey(wr.wr.rdma.rkey);
  }
  if (rules.is_atomic) {
    wqe.remote_address = wr.wr.atomic.remote_addr;
    wqe.rkey = MemoryKey(wr.wr.atomic.rkey);
    wqe.compare = wr.wr.atomic.compare_add;
    wqe.swap_or_add = wqe.op == ib::SendOp::compare_swap ? wr.wr.atomic.swap : wr.wr.atomic.compare_add;
  }
  if (defaults.type == IBV_QPT_UD || defaults.type == IBV_QPT_XRC_SEND) fill_destination(wqe, wr, defaults);
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    fill_inline(slot, wr);
  } else {
    fill_sges(slot, wr);
    if (rules.is_atomic && wqe.length > kWordBytes) [[unlikely]]
      cut_to_word(slot);
  }
}

}  // namespace softrnic::rnic
