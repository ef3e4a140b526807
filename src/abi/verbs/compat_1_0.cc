// The IBVERBS_1.0 twins of today's verbs.
//
// They served programs built before 2006, whose structures differ from today's. No program of Debian 12 binds
// to them; they exist because the ABI says so, and fail in the way their return type allows.
#include <cerrno>
#include <cstdint>

#include "abi/export.h"
#include "base/reason_id.h"

namespace {

int refuse_old() {
  softrnic::explain({.reason = softrnic::because(softrnic::ReasonId::old_abi)});
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

}  // namespace

// NULL and errno
#define OLD_POINTER(name)                                \
  SOFTRNIC_OLD_VERSION(old_##name, name, "IBVERBS_1.0"); \
  SOFTRNIC_EXPORT void* old_##name();                    \
  void* old_##name() { return refuse_old(), nullptr; }

// a positive errno
#define OLD_ERRNO(name)                                  \
  SOFTRNIC_OLD_VERSION(old_##name, name, "IBVERBS_1.0"); \
  SOFTRNIC_EXPORT int old_##name();                      \
  int old_##name() { return refuse_old(); }

// -1 and errno
#define OLD_MINUS_ONE(name)                              \
  SOFTRNIC_OLD_VERSION(old_##name, name, "IBVERBS_1.0"); \
  SOFTRNIC_EXPORT int old_##name();                      \
  int old_##name() { return refuse_old(), -1; }

// no way to say it
#define OLD_VOID(name)                                   \
  SOFTRNIC_OLD_VERSION(old_##name, name, "IBVERBS_1.0"); \
  SOFTRNIC_EXPORT void old_##name();                     \
  void old_##name() { refuse_old(); }

OLD_VOID(ibv_free_device_list)
OLD_POINTER(ibv_get_device_name)
OLD_POINTER(ibv_open_device)
OLD_ERRNO(ibv_close_device)
OLD_MINUS_ONE(ibv_get_async_event)
OLD_VOID(ibv_ack_async_event)
OLD_ERRNO(ibv_query_device)
OLD_ERRNO(ibv_query_port)
OLD_MINUS_ONE(ibv_query_gid)
OLD_MINUS_ONE(ibv_query_pkey)
OLD_POINTER(ibv_alloc_pd)
OLD_ERRNO(ibv_dealloc_pd)
OLD_POINTER(ibv_reg_mr)
OLD_ERRNO(ibv_dereg_mr)
OLD_POINTER(ibv_create_cq)
OLD_ERRNO(ibv_resize_cq)
OLD_ERRNO(ibv_destroy_cq)
OLD_MINUS_ONE(ibv_get_cq_event)
OLD_VOID(ibv_ack_cq_events)
OLD_POINTER(ibv_create_srq)
OLD_ERRNO(ibv_modify_srq)
OLD_ERRNO(ibv_query_srq)
OLD_ERRNO(ibv_destroy_srq)
OLD_POINTER(ibv_create_qp)
OLD_ERRNO(ibv_query_qp)
OLD_ERRNO(ibv_modify_qp)
OLD_ERRNO(ibv_destroy_qp)
OLD_POINTER(ibv_create_ah)
OLD_ERRNO(ibv_destroy_ah)
OLD_ERRNO(ibv_attach_mcast)
OLD_ERRNO(ibv_detach_mcast)

SOFTRNIC_OLD_VERSION(old_ibv_get_device_list, ibv_get_device_list, "IBVERBS_1.0");
SOFTRNIC_EXPORT void* old_ibv_get_device_list(int* count);
void* old_ibv_get_device_list(int* count) {
  if (count != nullptr) *count = 0;
  return refuse_old(), nullptr;
}

SOFTRNIC_OLD_VERSION(old_ibv_get_device_guid, ibv_get_device_guid, "IBVERBS_1.0");
SOFTRNIC_EXPORT std::uint64_t old_ibv_get_device_guid();
std::uint64_t old_ibv_get_device_guid() { return refuse_old(), 0; }

// Providers of libibverbs 1.0 registered themselves here; today's ABI keeps the name and ignores the call.
SOFTRNIC_OLD_VERSION(old_ibv_register_driver, ibv_register_driver, "IBVERBS_1.1");
SOFTRNIC_EXPORT void old_ibv_register_driver();
void old_ibv_register_driver() {}
