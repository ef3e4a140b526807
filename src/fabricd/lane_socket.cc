#include "fabricd/lane_socket.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "wire/link_header.h"
#include "wire/vcrc.h"

namespace softrnic::fabricd {
namespace {

using link::FabricHeader;
using link::FabricMessageType;
using link::kMaxFabricMessage;

constexpr std::array<std::byte, wire::kVcrcBytes> kNoVcrc{};
/// Messages read in one go, so that one lane does not keep the others from the fabric.
constexpr int kFairShare = 8;

}  // namespace

LaneSocket::LaneSocket(UniqueFd socket, HostPorts& ports)
    : socket_(std::move(socket)),
      ports_(ports),
      in_(std::make_unique_for_overwrite<std::byte[]>(kMaxFabricMessage)) {
  out_.reserve(kMaxFabricMessage);
}

// ---- from the lane

void LaneSocket::read() {
  for (int i = 0; i < kFairShare && send_frames() && read_message(); ++i) continue;
}

bool LaneSocket::read_message() {
  const ssize_t size = recv(fd(), in_.get(), kMaxFabricMessage, MSG_DONTWAIT | MSG_TRUNC);
  if (size < 0) return errno == EINTR;
  at_end_ = size == 0;
  const auto bytes = static_cast<std::size_t>(size);
  if (bytes >= sizeof(FabricHeader) && bytes <= kMaxFabricMessage) take_message({in_.get(), bytes});
  return !at_end_;
}

void LaneSocket::take_message(Bytes message) {
  FabricHeader header;
  std::memcpy(&header, message.data(), sizeof header);
  const Bytes body = message.subspan(sizeof header);
  if (header.type == FabricMessageType::frames) {
    unsent_ = {header.port, body};
    send_frames();
    return;
  }
  Membership membership{header.port, {}};
  wire::Gid& group = membership.group;
  if (body.size() != sizeof group.raw) return;
  std::memcpy(group.raw.data(), body.data(), sizeof group.raw);
  if (header.type == FabricMessageType::leave) std::erase(groups_, membership);
  const bool joins = header.type == FabricMessageType::join && !has_joined(header.port, group);
  if (joins && groups_.size() < link::kMostFabricGroups) groups_.push_back(membership);
}

bool LaneSocket::send_frames() {
  while (unsent_.frames.size() >= wire::kLrhBytes) {
    const auto lrh = wire::decode_link_header(unsent_.frames.first<wire::kLrhBytes>());
    const std::size_t size = lrh.bytes_before_vcrc();
    if (size < wire::kLrhBytes || size + wire::kVcrcBytes > unsent_.frames.size()) break;
    if (ports_.send(unsent_.port, unsent_.frames.first(size)) == HostPorts::Sent::no_room) {
      waits_for_room_ = true;
      return false;
    }
    unsent_.frames = unsent_.frames.subspan(size + wire::kVcrcBytes);
  }
  unsent_ = {};
  return true;
}

// ---- to the lane

bool LaneSocket::has_joined(std::uint8_t port, const wire::Gid& group) const {
  return std::find(groups_.begin(), groups_.end(), Membership{port, group}) != groups_.end();
}

void LaneSocket::begin_message(std::uint8_t port) {
  const FabricHeader header{FabricMessageType::frames, port, 0};
  out_.resize(sizeof header);
  std::memcpy(out_.data(), &header, sizeof header);
}

bool LaneSocket::deliver(std::uint8_t port, Bytes frame, TimePoint now) {
  const std::size_t size = frame.size() + wire::kVcrcBytes;
  const auto fits = [&] {
    return out_.empty() ||
           (std::to_integer<std::uint8_t>(out_[1]) == port && out_.size() + size <= kMaxFabricMessage);
  };
  if (!fits()) flush(now);
  if (!fits()) {
    if (now - full_since_ < kPatience) return false;
    ++dropped_;
    return true;
  }
  if (out_.empty()) begin_message(port);
  out_.insert(out_.end(), frame.begin(), frame.end());
  out_.insert(out_.end(), kNoVcrc.begin(), kNoVcrc.end());
  return true;
}

void LaneSocket::flush(TimePoint now) {
  if (out_.empty()) return;
  if (link::send_fabric_message(fd(), out_) == EAGAIN) {
    if (full_since_ == kNever) full_since_ = now;
    return;
  }
  out_.clear();  // sent; or the program has gone
  full_since_ = kNever;
}

}  // namespace softrnic::fabricd
