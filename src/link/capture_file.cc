#include "link/capture_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "wire/erf_header.h"
#include "wire/frame.h"
#include "wire/vcrc.h"

namespace softrnic::link {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;  ///< written out when so much has come together
constexpr std::size_t kPieces = 40;
constexpr std::uint32_t kFrames = 1;  ///< the second interface

std::string fill_in_pid(std::string_view path, bool& had_pid) {
  const std::size_t at = path.find("%p");
  had_pid = at != std::string_view::npos;
  if (!had_pid) return std::string(path);
  return std::string(path.substr(0, at)) + std::to_string(getpid()) + std::string(path.substr(at + 2));
}

std::string with_pid(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  const bool has_extension = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  const std::size_t at = has_extension ? dot : path.size();
  return path.substr(0, at) + "." + std::to_string(getpid()) + path.substr(at);
}

/// Opens and locks the file; -1 with errno, EWOULDBLOCK when another process writes it.
int open_locked(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | O_NOFOLLOW, 0600);
  if (fd < 0) return -1;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && ftruncate(fd, 0) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

std::uint64_t wall_clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);  // NOLINT(no-wall-clock): what a capture shows
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

/// MAC addresses that tell the two ends apart at a glance: locally administered, the end of the IP address.
wire::MacAddress mac_of(const wire::Gid& gid) {
  return {std::byte{0x02}, std::byte{0}, gid.raw[12], gid.raw[13], gid.raw[14], gid.raw[15]};
}

}  // namespace

Expected<std::unique_ptr<CaptureFile>, int> CaptureFile::create(std::string_view path) {
  bool had_pid = false;
  std::string name = fill_in_pid(path, had_pid);
  int fd = open_locked(name);
  if (fd < 0 && errno == EWOULDBLOCK && !had_pid) {
    name = with_pid(name);
    fd = open_locked(name);
  }
  if (fd < 0) return Unexpected{errno};
  return std::unique_ptr<CaptureFile>(new CaptureFile(fd, std::move(name)));
}

CaptureFile::CaptureFile(int fd, std::string path) : fd_(fd), owner_pid_(getpid()), path_(std::move(path)) {
  wire::append_section(buffer_, "softrnic");
  wire::append_interface(buffer_, "softrnic");
  write_out();
}

CaptureFile::~CaptureFile() {
  flush();
  close(fd_);
}

void CaptureFile::packet(wire::CaptureDirection direction, const wire::Flow& flow, std::uint16_t ip_id,
                         std::span<const Bytes> pieces) {
  std::byte headers[wire::kMaxFrameHeaderBytes];
  Bytes all[kPieces];
  std::size_t payload = 0;
  std::size_t count = 1;
  for (const Bytes& piece : pieces.first(std::min(pieces.size(), kPieces - 1))) {
    payload += piece.size();
    all[count++] = piece;
  }
  wire::FrameHeaders frame;
  frame.flow = flow;
  frame.ip_id = ip_id;
  frame.source_mac = mac_of(flow.source);
  frame.destination_mac = mac_of(flow.destination);
  all[0] = Bytes(headers, wire::encode_frame(frame, payload, headers));
  add(direction, {all, count});
}

void CaptureFile::segment(wire::CaptureDirection direction, const wire::TcpHeaders& headers,
                          std::span<const Bytes> pieces) {
  std::byte bytes[wire::kMaxTcpHeaderBytes];
  Bytes all[kMaxPieces + 1];
  std::size_t payload = 0;
  std::size_t count = 1;
  for (const Bytes& piece : pieces.first(std::min(pieces.size(), kMaxPieces))) {
    payload += piece.size();
    all[count++] = piece;
  }
  wire::TcpHeaders frame = headers;
  frame.source_mac = mac_of(headers.flow.source);
  frame.destination_mac = mac_of(headers.flow.destination);
  all[0] = Bytes(bytes, wire::encode_tcp_frame(frame, payload, bytes));
  add(direction, {all, count});
}

void CaptureFile::add(wire::CaptureDirection direction, std::span<const Bytes> pieces) {
  const std::lock_guard lock(mutex_);
  append({.time_ns = wall_clock_ns(), .direction = direction}, pieces);
}

void CaptureFile::frame(wire::CaptureDirection direction, Bytes frame) {
  const Bytes covered = frame.first(frame.size() - wire::kVcrcBytes);
  std::byte vcrc[wire::kVcrcBytes];
  wire::store_vcrc(vcrc, wire::vcrc_of(covered));
  const std::uint64_t now = wall_clock_ns();
  std::array<std::byte, wire::kErfHeaderBytes> erf;
  wire::encode_erf_header(wire::ErfType::infiniband, now, frame.size(), erf);
  const std::lock_guard lock(mutex_);
  if (!has_frames_) wire::append_interface(buffer_, "infiniband", wire::LinkType::extensible_record);
  has_frames_ = true;
  const Bytes pieces[] = {erf, covered, vcrc};
  append({.interface = kFrames, .time_ns = now, .direction = direction}, pieces);
}

void CaptureFile::append(const wire::CaptureRecord& record, std::span<const Bytes> pieces) {
  wire::append_packet(buffer_, record, pieces);
  if (buffer_.size() >= kBufferBytes) write_out();
}

void CaptureFile::flush() {
  const std::lock_guard lock(mutex_);
  write_out();
}

void CaptureFile::write_out() {
  std::size_t done = 0;
  while (getpid() == owner_pid_ && done < buffer_.size()) {
    const ssize_t written = write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;  // a full disk: the capture has a gap, the program goes on
    done += static_cast<std::size_t>(written);
  }
  buffer_.clear();
}

}  // namespace softrnic::link
