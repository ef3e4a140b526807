// The operations of struct ibv_qp_ex, behind ibv_wr_….
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "abi/verbs/objects.h"
#include "abi/verbs/send_batch.h"
#include "base/hot_path.h"
#include "base/reason_id.h"
#include "rnic/work_requests.h"

namespace softrnic::abi {
namespace {

SendBatch& batch_of(ibv_qp_ex* qp) { return *Qp::of(&qp->qp_base)->batch; }

/// Begins a work request and lets `fill` say what is special of it.
template <typename Fill>
void begin(ibv_qp_ex* qp, ibv_wr_opcode opcode, Fill&& fill) noexcept {
  ibv_send_wr* const wr = batch_of(qp).begin(opcode, qp->wr_id, qp->wr_flags);
  if (wr != nullptr) fill(*wr);
}

constexpr auto kNothingSpecial = [](ibv_send_wr&) {};

// ---- the batch

void start(ibv_qp_ex* qp) { batch_of(qp).start(); }
int complete(ibv_qp_ex* qp) { return batch_of(qp).complete(); }
void abort_batch(ibv_qp_ex* qp) { batch_of(qp).discard(); }

// ---- messages and RDMA

SOFTRNIC_HOT_PATH void send(ibv_qp_ex* qp) { begin(qp, IBV_WR_SEND, kNothingSpecial); }

void send_imm(ibv_qp_ex* qp, __be32 immediate) {
  begin(qp, IBV_WR_SEND_WITH_IMM, [&](ibv_send_wr& wr) { wr.imm_data = immediate; });
}

void send_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  begin(qp, IBV_WR_SEND_WITH_INV, [&](ibv_send_wr& wr) { wr.invalidate_rkey = rkey; });
}

SOFTRNIC_HOT_PATH void rdma_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  begin(qp, IBV_WR_RDMA_WRITE, [&](ibv_send_wr& wr) { wr.wr.rdma = {address, rkey}; });
}

void rdma_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, __be32 immediate) {
  begin(qp, IBV_WR_RDMA_WRITE_WITH_IMM, [&](ibv_send_wr& wr) {
    wr.wr.rdma = {address, rkey};
    wr.imm_data = immediate;
  });
}

void rdma_read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  begin(qp, IBV_WR_RDMA_READ, [&](ibv_send_wr& wr) { wr.wr.rdma = {address, rkey}; });
}

void compare_swap(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare,
                  std::uint64_t swap) {
  begin(qp, IBV_WR_ATOMIC_CMP_AND_SWP, [&](ibv_send_wr& wr) {
    wr.wr.atomic = {address, compare, swap, rkey};
  });
}

void fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t add) {
  begin(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, [&](ibv_send_wr& wr) { wr.wr.atomic = {address, add, 0, rkey}; });
}

// ---- memory windows

void bind_mw(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* info) {
  begin(qp, IBV_WR_BIND_MW, [&](ibv_send_wr& wr) { wr.bind_mw = {mw, rkey, *info}; });
}

void local_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  begin(qp, IBV_WR_LOCAL_INV, [&](ibv_send_wr& wr) { wr.invalidate_rkey = rkey; });
}

// ---- memory placement extensions: headers of rdma-core have the first from 44 on, the second from 45

void atomic_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, const void* word) {
  begin(qp, rnic::kWrAtomicWrite, [&](ibv_send_wr& wr) {
    wr.wr.rdma = {address, rkey};
    const ibv_data_buf piece{const_cast<void*>(word), 8};
    batch_of(qp).set_inline({&piece, 1});
  });
}

/// `type`: of enum ibv_placement_type; `level`: of enum ibv_selectivity_level.
void flush(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::size_t length, std::uint8_t type,
           std::uint8_t level) {
  // what the FETH has no room for, the check of the work request refuses
  const std::uint32_t feth = static_cast<std::uint32_t>(type) | static_cast<std::uint32_t>(level) << 4;
  const bool fits = type <= 0xf && level <= 3;
  begin(qp, rnic::kWrFlush, [&](ibv_send_wr& wr) {
    wr.wr.atomic = {address, length, fits ? feth : 0, rkey};
  });
}

// ---- raw packets

void send_tso(ibv_qp_ex* qp, void* header, std::uint16_t bytes, std::uint16_t mss) {
  begin(qp, IBV_WR_TSO, [&](ibv_send_wr& wr) { batch_of(qp).set_tso(wr, header, bytes, mss); });
}

/// Whatever comes after wr_flush: no queue pair is created with it, so that the batch fails.
void newer_operation(ibv_qp_ex* qp) { begin(qp, IBV_WR_DRIVER1, kNothingSpecial); }

/// Stands at `at` of the structure, of which this header may know a part only.
template <typename Operation>
void put(ibv_qp_ex& qp, std::size_t at, Operation* operation) {
  std::memcpy(reinterpret_cast<std::byte*>(&qp) + at, &operation, sizeof operation);
}

// ---- setters

void set_ud_addr(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  ibv_send_wr* const wr = batch_of(qp).last();
  if (wr != nullptr) wr->wr.ud = {ah, qpn, qkey};
}

void set_xrc_srqn(ibv_qp_ex* qp, std::uint32_t number) {
  SendBatch& batch = batch_of(qp);
  if (qp->qp_base.qp_type != IBV_QPT_XRC_SEND)
    return batch.fail(refuse(EINVAL, ReasonId::srqn_without_xrc, qp->qp_base.qp_type));
  ibv_send_wr* const wr = batch.last();
  if (wr != nullptr) wr->qp_type.xrc.remote_srqn = number;
}

SOFTRNIC_HOT_PATH void set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address,
                               std::uint32_t length) {
  batch_of(qp).set_sge({address, length, lkey});
}

void set_sge_list(ibv_qp_ex* qp, std::size_t count, const ibv_sge* sges) {
  batch_of(qp).set_sges({sges, count});
}

SOFTRNIC_HOT_PATH void set_inline_data(ibv_qp_ex* qp, void* address, std::size_t length) {
  const ibv_data_buf piece{address, length};
  batch_of(qp).set_inline({&piece, 1});
}

void set_inline_data_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* pieces) {
  batch_of(qp).set_inline({pieces, count});
}

}  // namespace

void fill_send_operations(ibv_qp_ex& qp, std::size_t newer) {
  constexpr std::size_t kAtomicWriteAt = offsetof(ibv_qp_ex, wr_abort) + sizeof qp.wr_abort;
  constexpr std::size_t kFlushAt = kAtomicWriteAt + sizeof(void*);
  const std::size_t end = sizeof qp + newer * sizeof(void*);
  for (std::size_t at = kFlushAt + sizeof(void*); at < end; at += sizeof(void*)) put(qp, at, newer_operation);
  put(qp, kAtomicWriteAt, atomic_write);
  put(qp, kFlushAt, flush);
  qp.wr_start = start;
  qp.wr_complete = complete;
  qp.wr_abort = abort_batch;
  qp.wr_send = send;
  qp.wr_send_imm = send_imm;
  qp.wr_send_inv = send_inv;
  qp.wr_rdma_write = rdma_write;
  qp.wr_rdma_write_imm = rdma_write_imm;
  qp.wr_rdma_read = rdma_read;
  qp.wr_atomic_cmp_swp = compare_swap;
  qp.wr_atomic_fetch_add = fetch_add;
  qp.wr_bind_mw = bind_mw;
  qp.wr_local_inv = local_inv;
  qp.wr_send_tso = send_tso;
  qp.wr_set_ud_addr = set_ud_addr;
  qp.wr_set_xrc_srqn = set_xrc_srqn;
  qp.wr_set_inline_data = set_inline_data;
  qp.wr_set_inline_data_list = set_inline_data_list;
  qp.wr_set_sge = set_sge;
  qp.wr_set_sge_list = set_sge_list;
}

}  // namespace softrnic::abi
