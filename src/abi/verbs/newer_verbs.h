// The verbs that rdma-core added between 59 and 65: what their callers pass.
//
// Debian 12's header does not have them, newer ones do. So they are declared here, under names of our own,
// and their functions are defined as softrnic_NAME: the library is the same whatever header it is built with.
// The layouts are compared with tests/abi/golden/layout-newer-ibverbs.txt.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "abi/export.h"

namespace softrnic::abi {

// ---- memory

struct Dmah;          ///< struct ibv_dmah: there are none
struct DmahInitAttr;  ///< struct ibv_dmah_init_attr
struct Buf;           ///< struct ibv_buf: opaque to programs

/// enum ibv_mr_init_attr_mask: which fields of MrInitAttr count.
enum MrFields : std::uint64_t {
  kMrIova = 1 << 0,
  kMrAddr = 1 << 1,
  kMrFd = 1 << 2,
  kMrFdOffset = 1 << 3,
  kMrDmah = 1 << 4,
  kMrBuf = 1 << 5,
};

/// struct ibv_mr_init_attr
struct MrInitAttr {
  std::size_t length;
  int access;
  std::uint64_t comp_mask;
  std::uint64_t iova;
  void* addr;
  int fd;
  std::uint64_t fd_offset;
  Dmah* dmah;
  Buf* buf;  ///< programs built with 59 to 62 do not have it
};

// ---- ports

/// The end of struct ibv_port_attr, where it has grown.
struct PortAttr {
  std::byte before[48];
  std::uint16_t port_cap_flags2;
  std::uint32_t active_speed_ex;
};

// ---- completion counters

/// struct ibv_comp_cntr
struct CompCntr {
  ibv_context* context;
  std::uint32_t handle;
};

/// enum ibv_comp_cntr_type
enum class CompCntrType : std::uint32_t { wrs, bytes };

/// struct ibv_comp_cntr_init_attr
struct CompCntrInitAttr {
  std::uint32_t comp_mask;
  CompCntrType type;
  std::uint32_t flags;
};

/// struct ibv_comp_cntr_caps
struct CompCntrCaps {
  std::uint64_t max_value;
  std::uint32_t max_counters;
  std::uint32_t supported_qp_attach_ops;
};

/// struct ibv_qp_attach_comp_cntr_attr
struct QpAttachCompCntrAttr {
  std::uint32_t comp_mask;
  std::uint32_t op_mask;  ///< enum ibv_qp_attach_comp_cntr_op: bits of ib::Counted
};

}  // namespace softrnic::abi

// Those that programs reach through struct verbs_context too.
SOFTRNIC_EXPORT softrnic::abi::Dmah* softrnic_ibv_alloc_dmah(ibv_context*, softrnic::abi::DmahInitAttr*);
SOFTRNIC_EXPORT int softrnic_ibv_dealloc_dmah(softrnic::abi::Dmah*);
SOFTRNIC_EXPORT ibv_mr* softrnic_ibv_reg_mr_ex(ibv_pd*, softrnic::abi::MrInitAttr*);
SOFTRNIC_EXPORT int softrnic_ibv_dm_export_dmabuf_fd(ibv_dm*);
SOFTRNIC_EXPORT void* softrnic_ibv_alloc_buf(ibv_pd*, std::size_t, softrnic::abi::Buf**);
SOFTRNIC_EXPORT void softrnic_ibv_free_buf(softrnic::abi::Buf*);

namespace softrnic::abi {

/// With what the newest struct verbs_context begins: it grows at its beginning.
struct NewerOperations {
  decltype(&softrnic_ibv_free_buf) free_buf = softrnic_ibv_free_buf;
  decltype(&softrnic_ibv_alloc_buf) alloc_buf = softrnic_ibv_alloc_buf;
  decltype(&softrnic_ibv_dm_export_dmabuf_fd) dm_export_dmabuf_fd = softrnic_ibv_dm_export_dmabuf_fd;
  decltype(&softrnic_ibv_reg_mr_ex) reg_mr_ex = softrnic_ibv_reg_mr_ex;
  decltype(&softrnic_ibv_dealloc_dmah) dealloc_dmah = softrnic_ibv_dealloc_dmah;
  decltype(&softrnic_ibv_alloc_dmah) alloc_dmah = softrnic_ibv_alloc_dmah;
};

/// Of the newest struct verbs_context: its size, and how much of it stands before its struct ibv_context.
inline constexpr std::size_t kBytesBeforeContext = 368;
inline constexpr std::size_t kVerbsContextBytes = kBytesBeforeContext + sizeof(ibv_context);

}  // namespace softrnic::abi
