// Registration by a structure (ibv_reg_mr_ex), and the buffers that the adapter chooses (ibv_alloc_buf). Any
// memory is as good as another here, so a buffer is ordinary memory.
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/newer_verbs.h"
#include "base/reason_id.h"

namespace softrnic::abi {

struct Buf {
  ibv_pd* pd = nullptr;
  void* address = nullptr;
  std::size_t size = 0;
};

namespace {

Expected<void*, Failure> alloc_buf(ibv_pd* pd, std::size_t size, Buf** out) {
  if (auto given = check_given(pd, out); !given) return Unexpected{given.error()};
  auto buffer = std::make_unique<Buf>(Buf{pd, nullptr, size});
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (posix_memalign(&buffer->address, page, size) != 0)
    return rnic::refused(ENOMEM, ReasonId::out_of_memory, size);
  *out = buffer.release();
  return (*out)->address;
}

Expected<void, Failure> check_buffer(const ibv_pd* pd, const MrInitAttr& wanted) {
  const std::uint64_t mask = wanted.comp_mask;
  if ((mask & kMrAddr) == 0 || (mask & (kMrFd | kMrFdOffset)) != 0)
    return rnic::refused(EINVAL, ReasonId::bad_mr_fields, mask);
  if (wanted.buf == nullptr) return null_argument();
  const Buf& buffer = *wanted.buf;
  if (buffer.pd != pd) return rnic::refused(EINVAL, ReasonId::buffer_other_pd);
  const auto base = reinterpret_cast<std::uintptr_t>(buffer.address);
  const auto address = reinterpret_cast<std::uintptr_t>(wanted.addr);
  const bool inside =
      address >= base && address - base <= buffer.size && wanted.length <= buffer.size - (address - base);
  if (!inside)
    return rnic::refused(EINVAL, ReasonId::outside_buffer, address, wanted.length, base, buffer.size);
  return {};
}

/// ibv_reg_mr(3): a dma-buf with all that belongs to it, or an address; never both.
Expected<void, Failure> check_fields(const ibv_pd* pd, const MrInitAttr* wanted) {
  constexpr std::uint64_t kKnown = kMrIova | kMrAddr | kMrFd | kMrFdOffset | kMrBuf;
  constexpr std::uint64_t kOfDmabuf = kMrFd | kMrFdOffset | kMrIova;
  if (auto given = check_given(pd, wanted); !given) return given;
  const std::uint64_t mask = wanted->comp_mask;
  if ((mask & kMrBuf) != 0) {
    if (auto ok = check_buffer(pd, *wanted); !ok) return ok;
  }
  if ((mask & ~kKnown) != 0)
    return rnic::refused(EOPNOTSUPP, ReasonId::unknown_mr_fields, mask, mask & ~kKnown);
  const bool fits = (mask & kMrFd) != 0 ? (mask & kOfDmabuf) == kOfDmabuf && (mask & kMrAddr) == 0
                                        : (mask & kMrAddr) != 0 && (mask & kMrFdOffset) == 0;
  if (!fits) return rnic::refused(EINVAL, ReasonId::bad_mr_fields, mask);
  return {};
}

}  // namespace
}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERSIONED(ibv_mr*, ibv_reg_mr_ex, "IBVERBS_1.15", (ibv_pd * pd, MrInitAttr* wanted)) {
  if (errno_call([&] { return check_fields(pd, wanted); }) != 0) return nullptr;
  const MrInitAttr& mr = *wanted;
  if ((mr.comp_mask & kMrFd) != 0)
    return ibv_reg_dmabuf_mr(pd, mr.fd_offset, mr.length, mr.iova, mr.fd, mr.access);
  const bool has_iova = (mr.comp_mask & kMrIova) != 0;
  const std::uint64_t iova = has_iova ? mr.iova : reinterpret_cast<std::uintptr_t>(mr.addr);
  return ibv_reg_mr_iova2(pd, mr.addr, mr.length, iova, static_cast<unsigned>(mr.access));
}

SOFTRNIC_VERSIONED(void*, ibv_alloc_buf, "IBVERBS_1.17", (ibv_pd * pd, std::size_t size, Buf** buffer)) {
  return pointer_call([&] { return alloc_buf(pd, size, buffer); });
}

SOFTRNIC_VERSIONED(void, ibv_free_buf, "IBVERBS_1.17", (Buf * buffer)) {
  if (buffer == nullptr) return;
  std::free(buffer->address);
  delete buffer;
}

SOFTRNIC_VERSIONED(ibv_mr*, ibv_reg_buf_mr, "IBVERBS_1.17",
                   (ibv_pd * pd, Buf* buffer, void* address, std::size_t length, int access)) {
  MrInitAttr wanted{};
  wanted.length = length;
  wanted.access = access;
  wanted.comp_mask = kMrBuf | kMrAddr;
  wanted.addr = address;
  wanted.buf = buffer;
  return softrnic_ibv_reg_mr_ex(pd, &wanted);
}

SOFTRNIC_VERSIONED(int, ibv_export_buf_dmabuf_fd, "IBVERBS_1.18", (Buf * buffer)) {
  return minus_one_call([&]() -> Expected<void, Failure> {
    if (buffer == nullptr) return null_argument();
    return rnic::refused(ENODATA, ReasonId::buffer_no_dmabuf);
  });
}
