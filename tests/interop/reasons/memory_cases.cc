// Keys, ranges and access: of the peer's memory, and of one's own.
#include "scene.h"

namespace reasons {
namespace {

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// A refused access to b's memory: both sides have to say why.
void refused_access(const Scene& s, ibv_send_wr wr, std::uint32_t bytes, const std::string& words) {
  must(s.a.send(bytes, wr) == 0 && s.a.completion().status == IBV_WC_REM_ACCESS_ERR, "remote access error");
  s.b.settle();
  expect(s.a.qpn(), kSendId,
         "the peer refused the request at PSN 100: rkey " + hex(wr.wr.rdma.rkey) + " does not allow " +
             number(bytes) + " bytes at " + hex(wr.wr.rdma.remote_addr));
  expect(s.b.qpn(), words);
}

void rkey_unknown() {
  Scene s(IBV_QPT_RC);
  refused_access(s, write_to(address_of(s.b.memory.data()), 0xbeef01), 64,
                 "rkey 0xbeef01 is not registered here");
}

void rkey_other_pd() {
  Scene s(IBV_QPT_RC);
  ibv_pd* other = ibv_alloc_pd(s.b.context);
  ibv_mr* mr = s.b.other_mr(other, kAllAccess);
  refused_access(s, write_to(address_of(s.b.memory.data()), mr->rkey), 64,
                 "rkey " + hex(mr->rkey) + " belongs to another protection domain than the QP");
  ibv_dereg_mr(mr);
  ibv_dealloc_pd(other);
}

void rkey_range() {
  Scene s(IBV_QPT_RC);
  const std::uint64_t at = address_of(s.b.memory.data()) + kBytes - 54;
  refused_access(s, write_to(at, s.b.mr->rkey), 64,
                 "the access of 64 bytes at " + hex(at) + " leaves the region of rkey " + hex(s.b.mr->rkey) +
                     " by 10 bytes");
}

void rkey_access() {
  Scene s(IBV_QPT_RC);
  ibv_mr* mr = s.b.other_mr(s.b.pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  refused_access(s, write_to(address_of(s.b.memory.data()), mr->rkey), 64,
                 "the region of rkey " + hex(mr->rkey) +
                     " was registered with IBV_ACCESS_LOCAL_WRITE|IBV_ACCESS_REMOTE_READ and lacks "
                     "IBV_ACCESS_REMOTE_WRITE");
  ibv_dereg_mr(mr);
}

void qp_access(ibv_wr_opcode opcode, const char* lacks, const char* packet) {
  Setup b;
  b.access = IBV_ACCESS_LOCAL_WRITE;
  Scene s(IBV_QPT_RC, {}, b);
  ibv_send_wr wr = write_to(address_of(s.b.memory.data()), s.b.mr->rkey);
  wr.opcode = opcode;
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic.remote_addr = address_of(s.b.memory.data());
    wr.wr.atomic.rkey = s.b.mr->rkey;
  }
  must(s.a.send(8, wr) == 0 && s.a.completion().status == IBV_WC_REM_INV_REQ_ERR, "invalid request");
  s.b.settle();
  expect(s.a.qpn(), kSendId, "the peer refused the request at PSN 100 (");
  expect(s.b.qpn(), std::string("the QP's qp_access_flags are IBV_ACCESS_LOCAL_WRITE and lack ") + lacks +
                        " for " + packet);
}

void unaligned_atomic() {
  Scene s(IBV_QPT_RC);
  ibv_send_wr wr = with_opcode(IBV_WR_ATOMIC_FETCH_AND_ADD);
  wr.wr.atomic.remote_addr = address_of(s.b.memory.data()) + 4;
  wr.wr.atomic.rkey = s.b.mr->rkey;
  must(s.a.send(8, wr) == 0 && s.a.completion().status == IBV_WC_REM_INV_REQ_ERR, "invalid request");
  s.b.settle();
  expect(s.b.qpn(), "the atomic's address " + hex(wr.wr.atomic.remote_addr) + " is not a multiple of 8");
}

void too_many_reads() {
  Setup b;
  b.max_dest_rd_atomic = 0;
  Scene s(IBV_QPT_RC, {}, b);
  ibv_send_wr wr = write_to(address_of(s.b.memory.data()), s.b.mr->rkey);
  wr.opcode = IBV_WR_RDMA_READ;
  must(s.a.send(64, wr) == 0 && s.a.completion().status == IBV_WC_REM_INV_REQ_ERR, "invalid request");
  s.b.settle();
  expect(s.b.qpn(), "more than max_dest_rd_atomic = 0 reads and atomics are outstanding");
}

void invalidates_region() {
  Scene s(IBV_QPT_RC);
  ibv_send_wr wr = with_opcode(IBV_WR_SEND_WITH_INV);
  wr.invalidate_rkey = s.b.mr->rkey;
  must(s.b.receive(kReceiveId, 64) == 0 && s.a.send(64, wr) == 0, "send");
  must(s.a.completion().status == IBV_WC_REM_ACCESS_ERR, "remote access error");
  s.b.settle();
  expect(s.b.qpn(), "key " + hex(s.b.mr->rkey) + " is a memory region's, which a peer cannot invalidate");
}

void bad_send_buffer(const Scene& s, ibv_sge sge, const std::string& words) {
  must(s.b.receive(kReceiveId, 64) == 0 && s.a.send_from(sge) == 0, "send");
  must(s.a.completion().status == IBV_WC_LOC_PROT_ERR, "local protection error");
  expect(s.a.qpn(), kSendId, words);
}

void lkey_unknown() {
  Scene s(IBV_QPT_RC);
  ibv_sge sge = s.a.sge(64);
  sge.lkey = 0xbeef01;
  bad_send_buffer(s, sge, "lkey 0xbeef01 is not registered here (64 bytes at " + hex(sge.addr) + ")");
}

void lkey_other_pd() {
  Scene s(IBV_QPT_RC);
  ibv_pd* other = ibv_alloc_pd(s.a.context);
  ibv_mr* mr = s.a.other_mr(other, 0);
  ibv_sge sge = s.a.sge(64);
  sge.lkey = mr->lkey;
  bad_send_buffer(s, sge, "lkey " + hex(mr->lkey) + " belongs to another protection domain than the queue");
  ibv_dereg_mr(mr);
  ibv_dealloc_pd(other);
}

void lkey_range() {
  Scene s(IBV_QPT_RC);
  ibv_sge sge = s.a.sge(64);
  sge.addr += kBytes - 60;
  bad_send_buffer(
      s, sge,
      "the 64 bytes at " + hex(sge.addr) + " leave the region of lkey " + hex(s.a.mr->lkey) + " by 4 bytes");
}

void receive_not_writable() {
  Scene s(IBV_QPT_RC);
  ibv_mr* mr = s.b.other_mr(s.b.pd, 0);
  ibv_sge sge = s.b.sge(64);
  sge.lkey = mr->lkey;
  must(s.b.receive(sge) == 0 && s.a.send(64) == 0, "send");
  must(s.a.completion().status == IBV_WC_REM_OP_ERR, "remote operation error");
  must(s.b.completion().status == IBV_WC_LOC_PROT_ERR, "local protection error");
  expect(s.a.qpn(), kSendId, "the peer could not complete the request at PSN 100 (IBV_WR_SEND, 64 bytes)");
  expect(s.b.qpn(), kReceiveId,
         "the region of lkey " + hex(mr->lkey) + " was registered with 0 and lacks IBV_ACCESS_LOCAL_WRITE");
  ibv_dereg_mr(mr);
}

}  // namespace

extern const Case kMemoryCases[] = {
    {"rkey_unknown", rkey_unknown},
    {"rkey_other_pd", rkey_other_pd},
    {"rkey_range", rkey_range},
    {"rkey_access", rkey_access},
    {"qp_access_write",
     [] { qp_access(IBV_WR_RDMA_WRITE, "IBV_ACCESS_REMOTE_WRITE", "RC RDMA Write Only"); }},
    {"qp_access_read", [] { qp_access(IBV_WR_RDMA_READ, "IBV_ACCESS_REMOTE_READ", "RC RDMA Read Request"); }},
    {"qp_access_atomic",
     [] { qp_access(IBV_WR_ATOMIC_FETCH_AND_ADD, "IBV_ACCESS_REMOTE_ATOMIC", "RC Fetch Add"); }},
    {"unaligned_atomic", unaligned_atomic},
    {"too_many_reads", too_many_reads},
    {"invalidates_region", invalidates_region},
    {"lkey_unknown", lkey_unknown},
    {"lkey_other_pd", lkey_other_pd},
    {"lkey_range", lkey_range},
    {"receive_not_writable", receive_not_writable},
    {nullptr, nullptr},
};

}  // namespace reasons
