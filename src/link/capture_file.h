// Writes the packets of a process to a pcapng file: SOFTRNIC_CAPTURE.
//
// Thread-safe: all lanes share one file. Whole blocks are appended with one write() each batch, so the file
// is valid whenever the process is killed. In a forked child it writes nothing.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "link/link.h"
#include "link/stream_capture.h"

namespace softrnic::link {

class CaptureFile final : public PacketTap, public StreamTap {
 public:
  /// Creates the file. "%p" in `path` becomes the process id. When the file exists and another process
  /// is writing it, the process id is put before its extension; one that nobody writes is replaced.
  /// Fails with a positive errno.
  static Expected<std::unique_ptr<CaptureFile>, int> create(std::string_view path);
  ~CaptureFile();
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;

  const std::string& path() const { return path_; }

  void packet(wire::CaptureDirection direction, const wire::Flow& flow, std::uint16_t ip_id,
              std::span<const Bytes> pieces) override;
  void frame(wire::CaptureDirection direction, Bytes frame) override;
  void flush() override;
  void segment(wire::CaptureDirection direction, const wire::TcpHeaders& headers,
               std::span<const Bytes> pieces) override;
  void flush_segments() override { flush(); }

 private:
  CaptureFile(int fd, std::string path);
  void add(wire::CaptureDirection direction, std::span<const Bytes> pieces);
  void append(const wire::CaptureRecord& record, std::span<const Bytes> pieces);
  void write_out();

  std::mutex mutex_;
  int fd_;
  int owner_pid_;
  std::string path_;
  bool has_frames_ = false;  ///< the interface of InfiniBand is in the file
  wire::CaptureBuffer buffer_;
};

}  // namespace softrnic::link
