// The general services interface: QP1 of every device, on lane 0's socket, or of an emulated InfiniBand host
// on a link to its fabric. Management datagrams in and out.
//
// What else comes to lane 0 is dropped: packets for queue pairs of lanes that do not exist, and QP0, which
// RoCE has no use for, and an emulated host has elsewhere. Never waits: what a full UDP socket does not take
// is lost, as the network may lose it, and its sender tries again.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "control/page_writer.h"
#include "link/fault_plan.h"
#include "link/link.h"
#include "mad/address.h"
#include "mad/mad.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::daemon {

/// The link of lane 0, whose socket stays the pool's, with the buffers it has. `faults` wrap it when there
/// are any, and `tap` (or nullptr), which outlives it, sees its packets.
std::unique_ptr<link::Link> make_gsi_link(int lane_socket, const link::FaultPlan& faults,
                                          link::PacketTap* tap);

class Gsi final : private link::Receiver {
 public:
  /// Gets a MAD of 256 bytes, good during the call. May send.
  using Handler = std::function<void(const mad::Address& from, Bytes mad)>;

  /// Counts in `page`, which outlives this object.
  Gsi(std::unique_ptr<link::Link> link, control::PageWriter& page);
  ~Gsi();
  Gsi(const Gsi&) = delete;
  Gsi& operator=(const Gsi&) = delete;

  void set_handler(Handler handler) { handler_ = std::move(handler); }
  /// The GIDs of all devices, and Gid::of_lid() of the InfiniBand ports: a MAD for any other address is
  /// dropped.
  void set_addresses(std::vector<device::GidEntry> addresses);
  /// The table of an InfiniBand port, which takes and sends MADs of its partitions alone. Without one it is
  /// in the default partition.
  void set_pkeys(std::uint32_t port, std::vector<std::uint16_t> pkeys) { pkeys_[port] = std::move(pkeys); }

  /// Queues a MAD of 256 bytes; it leaves with the next flush() or receive(). What the kernel refuses
  /// is counted and explained.
  void send(const mad::Address& to, Bytes mad, TimePoint now);
  void flush(TimePoint now);

  /// Readable when receive() has something to read.
  int readable_fd() const { return link_->readable_fd(); }
  /// When receive() wants to be called at the latest.
  TimePoint deadline() const { return link_->deadline(); }
  /// Reads a fair share of what is there, hands the MADs on, and flushes.
  void receive(TimePoint now);

 private:
  // link::Receiver
  void packet(const ib::RxPacket& packet) override;
  void dropped(const Reason& reason, ib::Counter counter, Qpn qpn, std::uint64_t packets) override;

  std::uint16_t source_port_to(const wire::Gid& peer) const;
  ib::AddressVector path_to(const mad::Address& to) const;
  std::uint8_t path_bits(const mad::Address& to) const;
  /// The table's entry of the partition of `pkey`; nothing: the port is not in it.
  std::optional<std::uint16_t> entry_of(std::uint32_t port, std::uint16_t pkey) const;
  /// What the P_Key of a packet is answered with; nothing: it is for other partitions.
  std::optional<std::uint16_t> own_pkey(const ib::RxPacket& packet) const;
  void take(const ib::RxPacket& packet);
  void drop(const Reason& reason, ib::Counter counter);
  void count(ib::Counter counter, std::uint64_t by = 1);
  /// The entry of our table that a packet was sent to; nullptr: there is none.
  const device::GidEntry* find_own(const ib::RxPacket& packet) const;

  std::unique_ptr<link::Link> link_;
  control::PageWriter& page_;
  control::PageLane* shown_;
  Handler handler_ = [](const mad::Address&, Bytes) {};
  std::vector<device::GidEntry> addresses_;
  std::map<std::uint32_t, std::vector<std::uint16_t>> pkeys_;  ///< by InfiniBand port
  std::deque<mad::Mad> queued_;                                ///< what the link may still read
  std::uint32_t psn_ = 0;                                      ///< of the next packet
  std::uint64_t secret_ = 0;                                   ///< decides which peers share a source port
};

}  // namespace softrnic::daemon
