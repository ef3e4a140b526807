// A part of a dma-buf (ibv_reg_dmabuf_mr(3)): memory of another device, or of udmabuf(4), as the kernel lets
// programs map it. The mapping keeps the buffer alive, whatever becomes of the descriptor.
//
// An adapter goes to such memory by itself; here the processor does, so from first to last it is an access of
// the CPU (DMA_BUF_IOCTL_SYNC, linux/dma-buf.h): the exporter is told of its begin and of its end. What the
// device does meanwhile is seen where its memory is coherent with the processor's caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"

namespace softrnic::rnic {

class DmabufMapping {
 public:
  struct Part {
    int fd = -1;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    bool writable = false;
  };
  /// EBADF: no descriptor; EINVAL: not of a dma-buf, or not all inside of it, or no length; EOPNOTSUPP: its
  /// exporter does not let it be mapped; what mmap(2) fails with.
  static Expected<std::unique_ptr<DmabufMapping>, Failure> create(const Part& part);
  ~DmabufMapping();
  DmabufMapping(const DmabufMapping&) = delete;
  DmabufMapping& operator=(const DmabufMapping&) = delete;

  /// The part's first byte.
  std::byte* bytes() const { return bytes_; }

 private:
  DmabufMapping(UniqueFd fd, const Part& part, std::byte* pages, std::uint64_t mapped);

  UniqueFd fd_;  ///< of our own, to tell the exporter
  const bool writable_;
  std::byte* const pages_;
  const std::uint64_t mapped_;
  std::byte* const bytes_;
};

}  // namespace softrnic::rnic
