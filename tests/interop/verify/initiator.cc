#include <endian.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tests/interop/verify/sides.h"

namespace interop {
namespace {

constexpr ibv_wr_opcode kOpcodes[] = {
    IBV_WR_SEND,      IBV_WR_SEND_WITH_IMM,      IBV_WR_RDMA_WRITE,           IBV_WR_RDMA_WRITE_WITH_IMM,
    IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_WRITE};

/// A work request with its gather list; built in place because it points into itself.
struct Request {
  ibv_send_wr wr{};
  std::array<ibv_sge, 3> pieces{};

  void build(const Operation& o, Peer& peer) {
    std::size_t begin = o.offset;
    const std::size_t end = o.offset + o.size;
    for (std::uint32_t i = 0; i < o.pieces; ++i) {
      const std::size_t size = i + 1 == o.pieces ? end - begin : (end - begin) / 2;
      pieces[i] = peer.slots().sge(begin, size);
      begin += size;
    }
    wr = {};
    wr.wr_id = o.number;
    wr.sg_list = pieces.data();
    wr.num_sge = o.size == 0 && o.pieces == 1 ? 0 : static_cast<int>(o.pieces);
    wr.opcode = kOpcodes[static_cast<std::size_t>(o.kind)];
    wr.send_flags = o.inlined ? IBV_SEND_SIGNALED | IBV_SEND_INLINE : IBV_SEND_SIGNALED;
    wr.imm_data = htobe32(o.number);
    if (peer.datagrams()) {
      wr.wr.ud = {peer.address_handle(), peer.remote().qpn, peer.remote().qkey};
    } else if (o.is_atomic()) {
      wr.wr.atomic = {peer.remote().memory + o.offset,
                      o.kind == Kind::fetch_add ? atomic_operand(o) : atomic_compare(o), atomic_operand(o),
                      peer.remote().rkey};
    } else {
      wr.wr.rdma = {peer.remote().memory + o.offset, peer.remote().rkey};
    }
  }
};

void lay_out(Peer& peer, const std::vector<Operation>& batch) {
  std::ranges::fill(peer.slots().all(), kUntouched);
  for (const Operation& o : batch) {
    if (o.kind != Kind::read && !o.is_atomic()) fill(peer.slots().bytes(o.offset, o.size), o.number);
  }
}

void post(Peer& peer, const std::vector<Operation>& batch) {
  std::array<Request, kBatch> requests;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    requests[i].build(batch[i], peer);
    if (i > 0) requests[i - 1].wr.next = &requests[i].wr;
  }
  ibv_send_wr* bad = nullptr;
  require(ibv_post_send(peer.qp(), &requests[0].wr, &bad) == 0, "ibv_post_send");
}

// Completions of one queue come in the order of the requests.
void collect(Peer& peer, const std::vector<Operation>& batch) {
  for (std::size_t done = 0; done < batch.size();) {
    for (const ibv_wc& wc : peer.poll()) {
      require(done < batch.size() && wc.wr_id == batch[done].number, "completions out of order");
      ++done;
    }
  }
}

void check(Peer& peer, const std::vector<Operation>& batch, Tally& tally) {
  for (const Operation& o : batch) {
    const auto slot = peer.slots().bytes(o.offset, o.size);
    if (o.kind == Kind::read) {
      judge(tally, matches(slot, o.number), o, "READ brought other bytes", o.size);
    } else if (o.is_atomic()) {
      std::uint64_t before = 0;
      std::memcpy(&before, slot.data(), sizeof before);
      judge(tally, before == atomic_start(o), o, "the atomic returned another value", o.size);
    }
    const bool kept = untouched(peer.slots().bytes(o.offset - kGuard / 2, kGuard / 2));
    judge(tally, kept, o, "bytes before the local slot were touched", 0);
  }
}

}  // namespace

Tally initiate(Peer& peer, const Settings& settings, Channel& channel) {
  Tally tally;
  for (std::uint32_t batch = 0; batch * kBatch < settings.messages; ++batch) {
    const auto operations = make_batch(settings, batch);
    lay_out(peer, operations);
    channel.barrier();  // the target is ready
    post(peer, operations);
    collect(peer, operations);
    check(peer, operations, tally);
    tally.messages += operations.size();
    channel.barrier();  // all has been sent
    channel.barrier();  // the target has checked
  }
  return tally;
}

}  // namespace interop
