#include "link/frame_receiver.h"

#include <linux/filter.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "ethernet/checksum.h"

namespace softrnic::link {
namespace {

constexpr std::uint16_t kVlan = 0x8100;
// flags of struct virtio_net_hdr
constexpr std::uint8_t kNeedsChecksum = 1, kChecksumValid = 2;

/// What the kernel says of a frame besides its bytes.
tpacket_auxdata auxiliary(const msghdr& header) {
  tpacket_auxdata data{};
  for (const cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr;
       at = CMSG_NXTHDR(const_cast<msghdr*>(&header), const_cast<cmsghdr*>(at))) {
    if (at->cmsg_level != SOL_PACKET || at->cmsg_type != PACKET_AUXDATA) continue;
    std::memcpy(&data, CMSG_DATA(at), sizeof data);
  }
  return data;
}

}  // namespace

FrameReceiver::FrameReceiver(UniqueFd fd) : fd_(std::move(fd)), pool_(new std::byte[kFrames * kSlotBytes]) {}

std::size_t FrameReceiver::fill(std::size_t most) {
  for (std::size_t i = 0; i < most; ++i) {
    Slot& slot = slots_[i];
    slot.pieces[0] = {&slot.offload, sizeof slot.offload};
    slot.pieces[1] = {pool_.get() + i * kSlotBytes + ethernet::kVlanTagBytes,
                      kSlotBytes - ethernet::kVlanTagBytes};
    msghdr& header = headers_[i].msg_hdr;
    header = {};
    header.msg_name = &slot.from;
    header.msg_namelen = sizeof slot.from;
    header.msg_iov = slot.pieces.data();
    header.msg_iovlen = slot.pieces.size();
    header.msg_control = slot.control;
    header.msg_controllen = sizeof slot.control;
  }
  // EINVAL is about one frame, which the kernel cannot describe and has dropped.
  int read = -1;
  for (std::size_t tries = 0; tries < kFrames && read < 0; ++tries) {
    read = recvmmsg(fd_.get(), headers_.data(), static_cast<unsigned>(most), MSG_DONTWAIT, nullptr);
    if (read < 0 && errno != EINVAL && errno != EINTR) break;
  }
  return read > 0 ? static_cast<std::size_t>(read) : 0;
}

FrameReceiver::Opened FrameReceiver::open(std::size_t index) {
  const Slot& slot = slots_[index];
  const msghdr& header = headers_[index].msg_hdr;
  const OffloadHeader& offload = slot.offload;
  if ((header.msg_flags & MSG_TRUNC) != 0 || headers_[index].msg_len < sizeof offload) return {};
  auto* const at = static_cast<std::byte*>(slot.pieces[1].iov_base);
  const std::size_t length = headers_[index].msg_len - sizeof offload;
  Opened opened{{{at, length}, slot.from.sll_pkttype == PACKET_OUTGOING, false}, 0};
  if (offload.gso_type != 0) opened.segment_bytes = offload.segment_bytes;
  if ((offload.flags & kNeedsChecksum) != 0) {
    // What stands there is the sum of the pseudo header.
    const std::size_t from = offload.checksum_from;
    const std::size_t sum_at = from + offload.checksum_at;
    if (sum_at + 2 <= length)
      store_be16(at + sum_at, ethernet::internet_checksum({at + from, length - from}));
    opened.frame.verified = true;
  }
  if ((offload.flags & kChecksumValid) != 0) opened.frame.verified = true;
  const tpacket_auxdata data = auxiliary(header);
  if ((data.tp_status & TP_STATUS_VLAN_VALID) == 0 || length < ethernet::kHeaderBytes) return opened;
  std::memmove(at - ethernet::kVlanTagBytes, at, ethernet::kVlanTagAt);
  const bool told = (data.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
  store_be16(at + ethernet::kVlanTagAt - ethernet::kVlanTagBytes, told ? data.tp_vlan_tpid : kVlan);
  store_be16(at + ethernet::kVlanTagAt - ethernet::kVlanTagBytes + 2, data.tp_vlan_tci);
  opened.frame.bytes = {at - ethernet::kVlanTagBytes, length + ethernet::kVlanTagBytes};
  return opened;
}

std::optional<ethernet::Segmentation> FrameReceiver::segments_of(const Opened& opened) {
  if (opened.segment_bytes == 0) return std::nullopt;
  const Bytes frame = opened.frame.bytes;
  auto cut = ethernet::Segmentation::of(frame, ethernet::parse(frame), opened.segment_bytes);
  if (cut && segment_.size() < cut->most_bytes()) segment_.resize(cut->most_bytes());
  return cut;
}

std::uint32_t FrameReceiver::take_drops() {
  tpacket_stats counts{};
  socklen_t size = sizeof counts;
  if (getsockopt(fd_.get(), SOL_PACKET, PACKET_STATISTICS, &counts, &size) != 0) return 0;
  return counts.tp_drops;
}

void FrameReceiver::change_filter(int option, Filter filter, const std::byte* address,
                                  std::uint32_t interface_index) {
  constexpr std::uint16_t kTypes[] = {PACKET_MR_UNICAST, PACKET_MR_MULTICAST, PACKET_MR_ALLMULTI,
                                      PACKET_MR_PROMISC};
  packet_mreq request{};
  request.mr_ifindex = static_cast<int>(interface_index);
  request.mr_type = kTypes[static_cast<std::size_t>(filter)];
  if (filter == Filter::address || filter == Filter::group) {
    request.mr_alen = ethernet::kMacBytes;
    std::memcpy(request.mr_address, address, ethernet::kMacBytes);
  }
  static_cast<void>(setsockopt(fd_.get(), SOL_PACKET, option, &request, sizeof request));
}

// A classic BPF program: the kernel need not copy what it would be dropped for.
void FrameReceiver::hear_only(const std::byte* address) {
  constexpr auto kKind = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kKind),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 6),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 4, 0),  // a group
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, load_be32(address), 0, 3),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, load_be16(address + 4), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  static_cast<void>(setsockopt(fd_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
}

void FrameReceiver::hear_all() {
  constexpr int kUnused = 0;
  static_cast<void>(setsockopt(fd_.get(), SOL_SOCKET, SO_DETACH_FILTER, &kUnused, sizeof kUnused));
}

void FrameReceiver::open_filter(Filter filter, const std::byte* address, std::uint32_t interface_index) {
  change_filter(PACKET_ADD_MEMBERSHIP, filter, address, interface_index);
}

void FrameReceiver::close_filter(Filter filter, const std::byte* address, std::uint32_t interface_index) {
  change_filter(PACKET_DROP_MEMBERSHIP, filter, address, interface_index);
}

}  // namespace softrnic::link
