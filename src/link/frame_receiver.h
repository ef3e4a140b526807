// Reads Ethernet frames from a packet socket, many a system call.
#pragma once

#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "ethernet/received_frame.h"
#include "ethernet/segmentation.h"

namespace softrnic::link {

/// Not thread-safe.
class FrameReceiver {
 public:
  static constexpr std::size_t kFrames = 16;  ///< that are read at once

  explicit FrameReceiver(UniqueFd fd);

  int fd() const { return fd_.get(); }
  /// What the netdev is to let through besides what is for its own address.
  enum class Filter : std::uint8_t { address, group, all_groups, everything };
  /// The kernel counts how often each was asked for. What it does not do, it does not do.
  void open_filter(Filter filter, const std::byte* address, std::uint32_t interface_index);
  void close_filter(Filter filter, const std::byte* address, std::uint32_t interface_index);

  /// Of frames that leave, only those for groups and for `address` are read from now on; or all.
  void hear_only(const std::byte* address);
  void hear_all();

  /// Reads what is there, up to `most` and kFrames, and calls take(frame) for each. What the kernel has
  /// joined, or left to its netdev to cut and to sum up, is given as it is on a wire. Returns how many it
  /// read.
  template <typename Take>
  std::size_t receive(std::size_t most, Take&& take) {
    const std::size_t filled = fill(std::min(most, kFrames));
    for (std::size_t i = 0; i < filled; ++i) {
      const Opened opened = open(i);
      if (opened.frame.bytes.empty()) continue;
      const auto cut = segments_of(opened);
      if (!cut) take(opened.frame);
      for (std::size_t segment = 0; cut && segment < cut->count(); ++segment) {
        const std::size_t bytes = cut->write(segment, segment_);
        take(ethernet::ReceivedFrame{Bytes(segment_).first(bytes), opened.frame.outgoing, true});
      }
    }
    return filled;
  }
  /// How many the kernel has dropped since the last call, as nobody read them.
  std::uint32_t take_drops();

 private:
  // A frame of the longest kind that netdevs put together, and room in front of it for a VLAN tag, which the
  // kernel has taken out.
  static constexpr std::size_t kSlotBytes = 66 * 1024;

  /// What PACKET_VNET_HDR puts before a frame: struct virtio_net_hdr (virtio 5.1.6), whose header is no C++.
  struct OffloadHeader {
    std::uint8_t flags;
    std::uint8_t gso_type;
    std::uint16_t header_bytes;
    std::uint16_t segment_bytes;
    std::uint16_t checksum_from;
    std::uint16_t checksum_at;  ///< counted from there
  };
  static_assert(sizeof(OffloadHeader) == 10);

  struct Slot {
    sockaddr_ll from;
    OffloadHeader offload;
    std::array<iovec, 2> pieces;
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(tpacket_auxdata))];
  };

  struct Opened {
    ethernet::ReceivedFrame frame;  ///< empty: it was cut off
    std::size_t segment_bytes = 0;  ///< it stands for several with so much payload each; 0: for itself
  };
  std::size_t fill(std::size_t most);
  Opened open(std::size_t index);
  /// Nothing: it is one frame.
  std::optional<ethernet::Segmentation> segments_of(const Opened& opened);
  void change_filter(int option, Filter filter, const std::byte* address, std::uint32_t interface_index);

  UniqueFd fd_;
  std::unique_ptr<std::byte[]> pool_;
  std::array<Slot, kFrames> slots_{};
  std::array<mmsghdr, kFrames> headers_{};
  std::vector<std::byte> segment_;
};

}  // namespace softrnic::link
