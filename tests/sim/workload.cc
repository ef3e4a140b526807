#include "tests/sim/workload.h"

#include <algorithm>

#include "tests/sim/scatter.h"
#include "transport/ib/flush_selector.h"

namespace softrnic::sim {

using ib::SendOp;
using ib::Status;

std::uint32_t Workload::draw_length(const Node& node) {
  const PairConfig& p = *node.pair;
  std::uint64_t length = 0;
  switch (rng_.below(10)) {
    case 0:
      return 0;
    case 1:
    case 2:
    case 3:
      length = rng_.range(1, 64);
      break;
    case 4:
    case 5:
      length = p.mtu * rng_.range(1, 4) + rng_.below(3) - 1;
      break;
    default:
      length = rng_.range(1, p.largest);
  }
  if (node.bytes_posted + length > p.byte_budget) length = rng_.below(33);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(length, p.largest));
}

WorkRequest Workload::draw(Node& node) {
  const PairConfig& p = *node.pair;
  WorkRequest wr;
  wr.id = next_id_++;
  std::uint64_t total = 0;
  for (const std::uint32_t w : p.op_weights) total += w;
  std::uint64_t pick = rng_.below(total);
  std::size_t op = 0;
  while (pick >= p.op_weights[op]) pick -= p.op_weights[op++];
  wr.op = static_cast<SendOp>(op);
  wr.signaled = !rng_.chance(p.unsignaled);
  wr.solicited = takes_receive(wr.op) && rng_.chance(0.3);
  wr.fence = p.type == ib::QpType::rc && rng_.chance(p.fenced);
  if (wr.op != SendOp::flush) wr.length = is_word(wr.op) ? 8 : draw_length(node);
  if (is_local(wr.op)) draw_window(node, wr);
  if (has_immediate(wr.op)) wr.immediate = static_cast<std::uint32_t>(rng_.next());
  const std::uint32_t least = is_word(wr.op) ? 8 : 1;
  wr.is_inline = p.inline_bytes >= least && (is_send(wr.op) || is_write(wr.op)) && rng_.chance(p.inlined);
  if (wr.is_inline) wr.length = std::min(wr.length, p.inline_bytes);
  if (wr.op == SendOp::send_with_invalidate) {
    if (node.peer->windows.empty()) {
      wr.op = SendOp::send;
    } else {
      wr.immediate = node.peer->windows.back().value;
      node.peer->windows.pop_back();
    }
  }
  return wr;
}

/// A bind makes a window; an invalidate takes one of those that the peer was not told of. Or, at times, none.
void Workload::draw_window(Node& node, WorkRequest& wr) {
  wr.length = 0;
  const bool bad = rng_.chance(0.02);
  if (wr.op == SendOp::bind_window || (node.windows.empty() && !bad)) {
    wr.op = SendOp::bind_window;
    return;
  }
  wr.rkey = bad ? kBadKey : node.windows.back();
  if (!bad) return node.windows.pop_back();
  wr.legal = bit(Status::window_bind);
  wr.reaches_peer = false;
}

void Workload::draw_target(Node& node, WorkRequest& wr) {
  if (is_send(wr.op) || is_local(wr.op) || node.peer == nullptr) return;
  const Region& target = *node.peer->target;
  const std::uint64_t hot = std::min<std::uint64_t>(target.size(), std::uint64_t{wr.length} + 512);
  const std::uint64_t room = (rng_.chance(0.5) ? hot : target.size()) - wr.length;
  wr.offset = rng_.below(room + 1);
  wr.rkey = target.key;
  if (is_word(wr.op)) wr.offset = std::min<std::uint64_t>(wr.offset & ~7ULL, target.size() - 8);
  if (wr.op == SendOp::flush) {
    const auto level = rng_.chance(0.3) ? ib::FlushSelector::kRegion : ib::FlushSelector::kRange;
    wr.swap_or_add = ib::FlushSelector{ib::FlushSelector::kGlobal, level}.feth();
    wr.offset = std::min<std::uint64_t>(wr.offset, target.size() - 1);
    wr.compare = rng_.range(1, target.size() - wr.offset);
    wr.remote_address = target.base + wr.offset;
    return;
  }
  if (is_atomic(wr.op)) {
    wr.swap_or_add = rng_.next();
    wr.compare = rng_.next();
    if (rng_.chance(0.6)) std::memcpy(&wr.compare, target.bytes().data() + wr.offset, 8);
  }
  wr.remote_address = target.base + wr.offset;
  if (wr.length == 0 && rng_.chance(0.5)) {  // neither is looked at when there is no length (IBTA C9-88)
    wr.rkey = rng_.chance(0.5) ? kBadKey : MemoryKey(0);
    wr.remote_address = rng_.chance(0.5) ? 0 : rng_.next();
  }
}

void Workload::draw_buffers(Node& node, WorkRequest& wr) {
  if (is_local(wr.op) || wr.op == SendOp::flush) return;
  const bool sink = wr.op == SendOp::read || is_atomic(wr.op);
  const auto pieces = node.pair->send_sges;
  Region& region = add_scattered(node.memory, wr.length, pieces, sink ? std::uint32_t{ib::kLocalWrite} : 0U,
                                 sink ? Use::sink : Use::source, rng_, wr.sges);
  region.owner = node.index;
  wr.local = region.key;
  wr.image = region.original();
  if (!sink) wr.payload = gather(wr.sges, region.base, wr.image);
}

void Workload::draw_datagram(Node& node, WorkRequest& wr) {
  std::vector<Node*> others;
  for (const auto& other : nodes_)
    if (other->pair->type == ib::QpType::ud && other->pair->mtu >= node.pair->mtu)
      others.push_back(other.get());
  Node& to = *others[rng_.below(others.size())];
  wr.to_node = to.index;
  wr.qkey = to.attributes.qkey;
  if (rng_.chance(0.03)) {
    wr.qkey ^= 0x100;
    wr.reaches_peer = false;
  }
}

/// The misdeed of the pair, if this is the work request that commits it.
void Workload::misbehave(Node& node, WorkRequest& wr) {
  const PairConfig& p = *node.pair;
  if (node.side != 0) return;
  const std::uint32_t success = bit(Status::success);
  const bool due = node.posted >= p.misdeed_at && !node.misbehaved;
  const bool remote = is_write(wr.op) || wr.op == SendOp::read || is_atomic(wr.op);
  const auto refuse = [&](Status status) {
    // A UC responder says nothing: the send succeeds.
    wr.legal = p.type == ib::QpType::rc ? bit(status) : success;
    wr.reaches_peer = false;
    node.misbehaved = true;
  };
  switch (p.misdeed) {
    case Misdeed::bad_rkey:
      if (due && remote && wr.length != 0) wr.rkey = kBadKey, refuse(Status::remote_access);
      break;
    case Misdeed::other_pd:
    case Misdeed::region_access:
      if (due && remote && wr.length != 0) {
        const Region& region = *(p.misdeed == Misdeed::other_pd ? node.peer->foreign : node.peer->feeble);
        wr.rkey = region.key;
        wr.remote_address = region.base;
        refuse(Status::remote_access);
      }
      break;
    case Misdeed::out_of_range:
      if (due && remote && wr.length != 0 && !is_word(wr.op))
        wr.remote_address =
            node.peer->target->base + node.peer->target->size() - wr.length + rng_.range(1, 8),
        refuse(Status::remote_access);
      break;
    case Misdeed::qp_access:
      if (!is_write(wr.op)) break;
      refuse(Status::remote_invalid_request);
      // Which of the two it is, and whether the flags count when there is no length, is
      // left open (IBTA 9.7.4.1.5).
      if (p.type == ib::QpType::rc) wr.legal |= bit(Status::remote_access);
      if (wr.length == 0) wr.legal |= success;
      if (wr.length == 0 && p.type == ib::QpType::rc) wr.reaches_peer = true;
      break;
    case Misdeed::misaligned_atomic:
      if (due && is_word(wr.op))
        wr.remote_address += rng_.range(1, 7), refuse(Status::remote_invalid_request);
      break;
    case Misdeed::unknown_srq:
      if (due && !is_local(wr.op)) wr.srqn = 0xbad, refuse(Status::remote_invalid_request);
      break;
    case Misdeed::bad_invalidate:
      if (due && is_send(wr.op) && p.type == ib::QpType::rc) {
        wr.op = SendOp::send_with_invalidate;
        wr.immediate = kBadKey.value;
        node.peer->bad_invalidate_expected = true;
        refuse(Status::remote_access);
        wr.legal |= bit(Status::remote_invalid_request) | bit(Status::remote_operation);
      }
      break;
    default:
      misuse_memory(node, wr, due);
  }
}

/// Misdeeds with one's own memory, and deregistration on either side.
void Workload::misuse_memory(Node& node, WorkRequest& wr, bool due) {
  switch (node.pair->misdeed) {
    case Misdeed::bad_lkey:
      if (due && !wr.is_inline && wr.length != 0) {
        for (auto& sge : wr.sges) sge.lkey = kBadKey;
        wr.legal = bit(Status::local_protection);
        // A READ or atomic, and what follows it, has been executed before its result finds no place.
        wr.reaches_peer = is_atomic(wr.op) || wr.op == SendOp::read;
        node.misbehaved = true;
      }
      break;
    case Misdeed::deregister_target:
      if (due) node.peer->target->usable = false, node.misbehaved = true;
      break;
    case Misdeed::deregister_source:
      if (due && !wr.is_inline && wr.local.value != 0) {
        node.doomed_source = wr.local;
        node.misbehaved = true;
      }
      break;
    default:
      break;
  }
}

bool Workload::commit(Node& node, WorkRequest& wr) {
  ib::SendSlot slot = node.endpoint->reserve();
  if (slot.wqe == nullptr) {
    ground_.fail(format("node %u: the send queue is full with %u of %u outstanding", node.index,
                        node.endpoint->outstanding_sends(), node.pair->send_depth));
    return false;
  }
  ib::SendWqe wqe;
  wqe.wr_id = wr.id;
  wqe.op = wr.op;
  wqe.signaled = wr.signaled;
  wqe.solicited = wr.solicited;
  wqe.fence = wr.fence;
  wqe.is_inline = wr.is_inline;
  wqe.length = wr.length;
  wqe.immediate = wr.immediate;
  wqe.remote_address = wr.remote_address;
  wqe.rkey = wr.rkey;
  wqe.remote_srqn = wr.srqn;
  wqe.compare = wr.compare;
  wqe.swap_or_add = wr.swap_or_add;
  if (node.pair->type == ib::QpType::ud) {
    wqe.address = node.address;
    wqe.address.destination = nodes_[wr.to_node]->address.source;
    wqe.remote_qpn = nodes_[wr.to_node]->qpn;
    wqe.remote_qkey = wr.qkey;
  }
  if (wr.is_inline) {
    std::copy(wr.payload.begin(), wr.payload.end(), slot.inline_data.begin());
    node.memory.remove(wr.local);  // inline data may be reused as soon as the post returns
    wr.local = MemoryKey(0);
    wr.sges.clear();
  } else {
    std::copy(wr.sges.begin(), wr.sges.end(), slot.sges.begin());
    wqe.sge_count = static_cast<std::uint16_t>(wr.sges.size());
  }
  *slot.wqe = wqe;
  ++node.posted;
  node.bytes_posted += wr.length;
  node.sends->post(std::move(wr));
  node.endpoint->commit();
  return true;
}

bool Workload::post(Node& node) {
  WorkRequest wr = draw(node);
  draw_target(node, wr);
  draw_buffers(node, wr);
  if (node.pair->type == ib::QpType::ud) draw_datagram(node, wr);
  if (node.pair->xrc && node.side == 0) wr.srqn = node.peer->queues[rng_.below(2)]->srqn;
  misbehave(node, wr);
  return commit(node, wr);
}

}  // namespace softrnic::sim
