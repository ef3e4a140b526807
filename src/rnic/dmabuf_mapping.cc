#include "rnic/dmabuf_mapping.h"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/reason_id.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

bool is_dmabuf(int fd) {
  struct statfs system {};
  return fstatfs(fd, &system) == 0 && system.f_type == DMA_BUF_MAGIC;
}

/// 0, or an errno.
int tell_exporter(int fd, std::uint64_t edge, bool writable) {
  dma_buf_sync sync{.flags = edge | (writable ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ)};
  int failed = 0;
  do failed = ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
  while (failed != 0 && (errno == EINTR || errno == EAGAIN));
  return failed == 0 ? 0 : errno;
}

// The answers are those of the kernel's dma_buf_get() and ib_umem_dmabuf_get().
Expected<void, Failure> check(const DmabufMapping::Part& part) {
  // UCX asks so whether there is support at all; EBADF says that there is, and is no failure.
  if (part.fd == -1) return Unexpected{refuse(EBADF, ReasonId::no_dmabuf, part.fd)};
  if (fcntl(part.fd, F_GETFD) < 0) return refused(EBADF, ReasonId::no_dmabuf, part.fd);
  if (!is_dmabuf(part.fd)) return refused(EINVAL, ReasonId::no_dmabuf, part.fd);
  const off_t end = lseek(part.fd, 0, SEEK_END);
  const auto size = static_cast<std::uint64_t>(end < 0 ? 0 : end);
  if (part.length == 0 || part.offset > size || part.length > size - part.offset)
    return refused(EINVAL, ReasonId::outside_dmabuf, part.length, part.offset, size);
  return {};
}

}  // namespace

Expected<std::unique_ptr<DmabufMapping>, Failure> DmabufMapping::create(const Part& part) {
  if (auto ok = check(part); !ok) return Unexpected{ok.error()};
  UniqueFd fd(fcntl(part.fd, F_DUPFD_CLOEXEC, 3));
  if (!fd) return refused(errno, ReasonId::out_of_fds, errno);
  const std::uint64_t into = part.offset % page_bytes();
  const std::uint64_t mapped = into + part.length;
  void* const pages = mmap(nullptr, mapped, part.writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                           fd.get(), static_cast<off_t>(part.offset - into));
  if (pages == MAP_FAILED) {
    const int error = errno;
    return refused(error == ENODEV ? EOPNOTSUPP : error, ReasonId::dmabuf_not_mapped, error);
  }
  if (const int error = tell_exporter(fd.get(), DMA_BUF_SYNC_START, part.writable); error != 0) {
    munmap(pages, mapped);
    return refused(error, ReasonId::dmabuf_not_mapped, error);
  }
  return std::unique_ptr<DmabufMapping>(
      new DmabufMapping(std::move(fd), part, static_cast<std::byte*>(pages), mapped));
}

DmabufMapping::DmabufMapping(UniqueFd fd, const Part& part, std::byte* pages, std::uint64_t mapped)
    : fd_(std::move(fd)),
      writable_(part.writable),
      pages_(pages),
      mapped_(mapped),
      bytes_(pages + part.offset % page_bytes()) {}

DmabufMapping::~DmabufMapping() {
  tell_exporter(fd_.get(), DMA_BUF_SYNC_END, writable_);
  munmap(pages_, mapped_);
}

}  // namespace softrnic::rnic
