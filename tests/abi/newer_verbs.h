// The verbs that rdma-core added between 59 and 65, as a program of today calls them. The names are ours and
// the symbols theirs, so that a header that declares them does not mind.
#pragma once

#include "abi/verbs/newer_verbs.h"
#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {

extern "C" {
abi::Dmah* alloc_dmah(ibv_context*, abi::DmahInitAttr*) __asm__("ibv_alloc_dmah");
int dealloc_dmah(abi::Dmah*) __asm__("ibv_dealloc_dmah");
ibv_mr* reg_mr_ex(ibv_pd*, abi::MrInitAttr*) __asm__("ibv_reg_mr_ex");
int dm_export_dmabuf_fd(ibv_dm*) __asm__("ibv_dm_export_dmabuf_fd");
int query_port_speed(ibv_context*, std::uint32_t, std::uint64_t*) __asm__("ibv_query_port_speed");
void* alloc_buf(ibv_pd*, std::size_t, abi::Buf**) __asm__("ibv_alloc_buf");
void free_buf(abi::Buf*) __asm__("ibv_free_buf");
ibv_mr* reg_buf_mr(ibv_pd*, abi::Buf*, void*, std::size_t, int) __asm__("ibv_reg_buf_mr");
int export_buf_dmabuf_fd(abi::Buf*) __asm__("ibv_export_buf_dmabuf_fd");
int query_comp_cntr_caps(ibv_context*, void*, std::size_t) __asm__("_ibv_query_comp_cntr_caps");
abi::CompCntr* create_comp_cntr(ibv_context*, abi::CompCntrInitAttr*) __asm__("ibv_create_comp_cntr");
int destroy_comp_cntr(abi::CompCntr*) __asm__("ibv_destroy_comp_cntr");
int set_comp_cntr(abi::CompCntr*, std::uint64_t) __asm__("ibv_set_comp_cntr");
int set_err_comp_cntr(abi::CompCntr*, std::uint64_t) __asm__("ibv_set_err_comp_cntr");
int inc_comp_cntr(abi::CompCntr*, std::uint64_t) __asm__("ibv_inc_comp_cntr");
int inc_err_comp_cntr(abi::CompCntr*, std::uint64_t) __asm__("ibv_inc_err_comp_cntr");
int read_comp_cntr(abi::CompCntr*, std::uint64_t*) __asm__("ibv_read_comp_cntr");
int read_err_comp_cntr(abi::CompCntr*, std::uint64_t*) __asm__("ibv_read_err_comp_cntr");
int qp_attach_comp_cntr(ibv_qp*, abi::CompCntr*,
                        abi::QpAttachCompCntrAttr*) __asm__("ibv_qp_attach_comp_cntr");
}

using CounterPtr = Owner<abi::CompCntr, destroy_comp_cntr>;

/// enum ibv_qp_attach_comp_cntr_op
enum CountedOperation : std::uint32_t {
  kSend = 1 << 0,
  kRecv = 1 << 1,
  kRead = 1 << 2,
  kRemoteRead = 1 << 3,
  kWrite = 1 << 4,
  kRemoteWrite = 1 << 5,
};

/// The errno of a call that gives a pointer, 0 when it gave one.
template <typename Call>
int error_of(Call&& call) {
  errno = 0;
  return call() != nullptr ? 0 : errno;
}

}  // namespace softrnic::abi_test
