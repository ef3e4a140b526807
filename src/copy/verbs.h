// Owners of what verbs and rdma_cm hand out. Plain C API of libibverbs and librdmacm,
// nothing of softrnic's own.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <sys/mman.h>

#include <memory>
#include <utility>

#include "base/bytes.h"
#include "base/destroy_with.h"
#include "copy/error.h"

namespace softrnic::copy {

/// With the queue pair that rdma_create_qp made for it.
struct DestroyId {
  void operator()(rdma_cm_id* id) const {
    if (id->qp != nullptr) rdma_destroy_qp(id);
    rdma_destroy_id(id);
  }
};

using EventChannelPtr = std::unique_ptr<rdma_event_channel, DestroyWith<rdma_destroy_event_channel>>;
using IdPtr = std::unique_ptr<rdma_cm_id, DestroyId>;
using EventPtr = std::unique_ptr<rdma_cm_event, DestroyWith<rdma_ack_cm_event>>;
using DomainPtr = std::unique_ptr<ibv_pd, DestroyWith<ibv_dealloc_pd>>;
using RegionPtr = std::unique_ptr<ibv_mr, DestroyWith<ibv_dereg_mr>>;
using CompletionChannelPtr = std::unique_ptr<ibv_comp_channel, DestroyWith<ibv_destroy_comp_channel>>;
using QueuePairPtr = std::unique_ptr<ibv_qp, DestroyWith<ibv_destroy_qp>>;
using CompletionQueuePtr = std::unique_ptr<ibv_cq, DestroyWith<ibv_destroy_cq>>;

/// Pages of zeros that the adapter knows.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(region_, other.region_);
    return *this;
  }
  ~Buffer() {
    region_.reset();
    if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  }

  /// `access`: of enum ibv_access_flags; local writing is always allowed.
  static Result<Buffer> make(ibv_pd* domain, std::size_t size, unsigned access = 0) {
    Buffer buffer;
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return fail_errno("memory for buffers");
    buffer.bytes_ = MutableBytes(static_cast<std::byte*>(pages), size);
    buffer.region_.reset(ibv_reg_mr(domain, pages, size, static_cast<int>(IBV_ACCESS_LOCAL_WRITE | access)));
    if (buffer.region_ == nullptr) return fail_errno("registering memory (see ulimit -l)");
    return buffer;
  }

  MutableBytes bytes() const { return bytes_; }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(bytes_.data()); }
  std::uint32_t lkey() const { return region_->lkey; }
  std::uint32_t rkey() const { return region_->rkey; }

 private:
  MutableBytes bytes_;
  RegionPtr region_;
};

}  // namespace softrnic::copy
