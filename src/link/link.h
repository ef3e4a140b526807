// A link carries packets between a lane and the world. Fault injection is a link that wraps a link; capture
// is a PacketTap of one.
//
// Not thread-safe: the lane's lock guards it. A link batches: send() may keep a packet until flush(), but
// takes the payload's bytes from their fragments no later than the next flush(), which happens before the
// lock is released.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "device/device_info.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/types.h"
#include "wire/icrc.h"
#include "wire/pcapng.h"

namespace softrnic::link {

/// Receives what a link has read.
class Receiver {
 public:
  /// A well-formed packet with a correct ICRC. Valid during the call.
  virtual void packet(const ib::RxPacket& packet) = 0;
  /// `packets` packets were dropped for one reason. `qpn` is 0 when unknown. Packets that could not be sent
  /// are reported here too, at the next receive().
  virtual void dropped(const Reason& reason, ib::Counter counter, Qpn qpn, std::uint64_t packets) = 0;

 protected:
  ~Receiver() = default;
};

/// Sees every packet of a link as it is on the wire, damaged ones included.
class PacketTap {
 public:
  /// `pieces` together are the UDP payload: BTH to ICRC. `ip_id` is the IPv4
  /// identification as far as it is known.
  virtual void packet(wire::CaptureDirection direction, const wire::Flow& flow, std::uint16_t ip_id,
                      std::span<const Bytes> pieces) = 0;
  /// An InfiniBand frame, LRH to VCRC, whose VCRC is zero.
  virtual void frame(wire::CaptureDirection direction, Bytes frame) = 0;
  /// A batch is over.
  virtual void flush() = 0;

 protected:
  ~PacketTap() = default;
};

class Link {
 public:
  virtual ~Link() = default;

  /// Shows all packets to `tap`, which outlives the link; nullptr: to nobody.
  virtual void set_tap(PacketTap* tap) = 0;

  /// Queues a packet; may send what is queued. The TxPacket may be reused at once, the fragments' bytes may
  /// not change before flush().
  virtual void send(const ib::TxPacket& packet, TimePoint now) = 0;
  /// Queues a packet of which one bit is flipped after its ICRC was computed: bit number `bit` modulo its
  /// bits.
  virtual void send_damaged(const ib::TxPacket& packet, std::uint32_t bit, TimePoint now) = 0;
  /// Sends all that is queued, or what is_full() leaves.
  virtual void flush(TimePoint now) = 0;
  /// The network takes no more for the present, as a flush has shown, or a send(). Packets are kept from it
  /// until that has changed, when readable_fd() becomes writable; a queue pair may end its turn before. May
  /// be called without the lock.
  virtual bool is_full() const { return false; }
  /// Reads at most one batch without waiting and hands it to `receiver`. Returns the number of packets read
  /// (dropped ones included); 0 when nothing was there.
  virtual std::size_t receive(Receiver& receiver, TimePoint now) = 0;

  /// Whether receive() would find a packet right now. May be called without the lock, and
  /// is cheaper than receive().
  virtual bool has_packet(TimePoint now) const = 0;
  /// Becomes readable when receive() has work; -1 when there is no such fd.
  virtual int readable_fd() const = 0;
  /// When the link itself wants receive() or flush() to be called (delayed packets, a full network, lost
  /// packets to report), or kNever.
  virtual TimePoint deadline() const { return kNever; }

  /// The addresses of this host, so that packets from a link-local or to a multicast address find their
  /// netdev.
  virtual void set_addresses(std::vector<device::GidEntry> addresses) = 0;
  virtual bool join(const wire::Gid& group, std::uint32_t interface_index) = 0;
  virtual bool leave(const wire::Gid& group, std::uint32_t interface_index) = 0;
};

}  // namespace softrnic::link
