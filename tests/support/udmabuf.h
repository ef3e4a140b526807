// A dma-buf to register: pages of a memfd, which /dev/udmabuf exports (linux/udmabuf.h). Not every kernel has
// it, and not everybody may open it.
#pragma once

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/unique_fd.h"

namespace softrnic::test {

class Udmabuf {
 public:
  explicit Udmabuf(std::size_t bytes) : bytes_(bytes) {
    const UniqueFd device(open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
    const UniqueFd pages(memfd_create("udmabuf-test", MFD_ALLOW_SEALING | MFD_CLOEXEC));
    if (device && pages && ftruncate(pages.get(), static_cast<off_t>(bytes)) == 0 &&
        fcntl(pages.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
      udmabuf_create wanted{};
      wanted.memfd = static_cast<__u32>(pages.get());
      wanted.flags = UDMABUF_FLAGS_CLOEXEC;
      wanted.size = bytes;
      fd_ = UniqueFd(ioctl(device.get(), UDMABUF_CREATE, &wanted));
    }
    if (!fd_) {
      why_not_ = std::string("no dma-buf by /dev/udmabuf: ") + std::strerror(errno);
      return;
    }
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pages.get(), 0);
    memory_ = memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
  }
  ~Udmabuf() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  Udmabuf(const Udmabuf&) = delete;
  Udmabuf& operator=(const Udmabuf&) = delete;

  /// Empty: it is there.
  const std::string& why_not() const { return why_not_; }
  int fd() const { return fd_.get(); }
  /// Of the dma-buf; whoever has registered it needs it no more.
  void close_fd() { fd_ = UniqueFd(); }
  /// Its bytes, as the memfd shows them.
  char* memory() const { return memory_; }

 private:
  const std::size_t bytes_;
  std::string why_not_;
  UniqueFd fd_;
  char* memory_ = nullptr;
};

}  // namespace softrnic::test
