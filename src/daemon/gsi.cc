#include "daemon/gsi.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/reason_id.h"
#include "device/pkey.h"
#include "link/fault_link.h"
#include "link/udp_link.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::daemon {
namespace {

/// Packets read in one go, so that clients do not wait behind a flood
constexpr std::size_t kFairShare = 256;
constexpr std::size_t kMostQueued = 64;  ///< MADs that wait for a flush
constexpr std::uint8_t kUsualHopLimit = 64;
constexpr std::uint16_t kFirstSourcePort = 0xc000, kSourcePorts = 16;
constexpr unsigned kLidsOfPort = 128;  ///< the most, with an LMC of 7 (IBTA 4.1.3)

bool is_lid_of(const device::GidEntry& entry, std::uint32_t port, wire::Lid lid) {
  return entry.gid.is_lid() && entry.interface_index == port &&
         (entry.gid.lid().value ^ lid.value) < kLidsOfPort;
}

// Linux 6 gives a multicast packet that one socket alone wants to whomever the SO_REUSEPORT group
// chooses, which is any lane (udp_v4_early_demux, then inet_steal_sock). Lane 0 wants every group, so
// that no other is ever alone.
void hear_all_groups(int lane_socket) {
  const int on = 1;
  setsockopt(lane_socket, SOL_IP, IP_MULTICAST_ALL, &on, sizeof on);
}

}  // namespace

std::unique_ptr<link::Link> make_gsi_link(int lane_socket, const link::FaultPlan& faults,
                                          link::PacketTap* tap) {
  std::unique_ptr<link::Link> link = std::make_unique<link::UdpLink>(link::UdpLink::Options{
      .fd = fcntl(lane_socket, F_DUPFD_CLOEXEC, 0), .patient = false, .sizes_buffers = false});
  hear_all_groups(lane_socket);
  link->set_tap(tap);
  if (!faults.any()) return link;
  return std::make_unique<link::FaultLink>(std::move(link), faults);
}

Gsi::Gsi(std::unique_ptr<link::Link> link, control::PageWriter& page)
    : link_(std::move(link)), page_(page), shown_(page.add_lane(0)) {
  // 8 bytes are never cut short
  [[maybe_unused]] const ssize_t taken = getrandom(&secret_, sizeof secret_, 0);
}

Gsi::~Gsi() { page_.remove_lane(shown_); }

void Gsi::set_addresses(std::vector<device::GidEntry> addresses) {
  addresses_ = addresses;
  link_->set_addresses(std::move(addresses));
}

// ---- out

// Each source port has a socket with a buffer of its own. What is for an address that nobody has lies there
// until the kernel has given up resolving a neighbour, and whoever forges requests has many such addresses
// answered. So peers are spread over a few sockets, and nobody knows which peers share one; flow labels,
// which peers choose, have no say.
std::uint16_t Gsi::source_port_to(const wire::Gid& peer) const {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t mixed = secret_;
  for (const std::uint64_t half : {peer.high_half(), peer.low_half()}) {
    mixed = (mixed ^ half) * kOdd;
    mixed ^= mixed >> 32;
  }
  return static_cast<std::uint16_t>(kFirstSourcePort + mixed % kSourcePorts);
}

ib::AddressVector Gsi::path_to(const mad::Address& to) const {
  ib::AddressVector path;
  path.source = to.local;
  path.destination = to.remote;
  path.traffic_class = to.traffic_class;
  path.flow_label = to.flow_label;
  if (to.is_infiniband()) {
    path.hop_limit = to.hop_limit;
    path.service_level = to.sl;
    path.interface_index = to.interface_index;
    path.dlid = to.remote_lid;
    path.source_path_bits = path_bits(to);
    return path;
  }
  path.hop_limit = to.hop_limit != 0 ? to.hop_limit : kUsualHopLimit;
  path.source_port = source_port_to(to.remote);
  if (to.remote.is_link_local()) path.interface_index = to.interface_index;
  return path;
}

std::uint8_t Gsi::path_bits(const mad::Address& to) const {
  for (const device::GidEntry& entry : addresses_)
    if (is_lid_of(entry, to.interface_index, to.local_lid))
      return static_cast<std::uint8_t>(entry.gid.lid().value ^ to.local_lid.value);
  return 0;
}

std::optional<std::uint16_t> Gsi::entry_of(std::uint32_t port, std::uint16_t pkey) const {
  const auto table = pkeys_.find(port);
  const std::span<const std::uint16_t> pkeys =
      table != pkeys_.end() ? std::span<const std::uint16_t>(table->second) : device::kOnlyPkey;
  const auto index = device::pkey_index(pkeys, pkey);
  return index ? std::optional(pkeys[*index]) : std::nullopt;
}

void Gsi::send(const mad::Address& to, Bytes mad, TimePoint now) {
  if (mad.size() != mad::kMadBytes) return;
  const auto pkey = to.is_infiniband() ? entry_of(to.interface_index, to.pkey) : std::optional(to.pkey);
  if (!pkey)
    return dropped(because(ReasonId::no_such_pkey, to.pkey), ib::Counter::send_errors, to.remote_qpn, 1);
  if (queued_.size() == kMostQueued) flush(now);
  std::copy(mad.begin(), mad.end(), queued_.emplace_back().begin());
  const ib::AddressVector path = path_to(to);
  ib::TxPacket packet;
  packet.path = &path;
  wire::Bth& bth = packet.headers.bth;
  bth.opcode = wire::Opcode::ud_send_only;
  bth.pkey = *pkey;
  bth.destination = to.remote_qpn;
  bth.ack_request = true;  // as the kernel's drivers do; it asks for nothing
  bth.psn = psn_;
  psn_ = (psn_ + 1) & wire::kPsnMask;
  packet.headers.deth.qkey = to.qkey;
  packet.headers.deth.source = mad::kGsiQpn;
  packet.payload_bytes = mad::kMadBytes;
  packet.fragment_count = 1;
  packet.fragments[0] = {queued_.back().data(), mad::kMadBytes};
  link_->send(packet, now);
  count(ib::Counter::tx_packets);
  count(ib::Counter::tx_bytes, mad::kMadBytes);
}

void Gsi::flush(TimePoint now) {
  link_->flush(now);
  queued_.clear();
}

// ---- in

void Gsi::receive(TimePoint now) {
  std::size_t packets = 0;
  while (packets < kFairShare) {
    const std::size_t read = link_->receive(*this, now);
    if (read == 0) break;
    packets += read;
  }
  flush(now);
}

void Gsi::packet(const ib::RxPacket& packet) {
  const Qpn qpn = packet.packet.headers.bth.destination;
  if (qpn == mad::kGsiQpn) {
    take(packet);
    return;
  }
  if (qpn.value == Qpn::kMulticast) return;  // the lanes that joined the group have it, too
  dropped(because(ReasonId::drop_unknown_qpn, qpn.value,
                  static_cast<std::uint64_t>(packet.packet.headers.bth.opcode), packet.source.high_half(),
                  packet.source.low_half()),
          ib::Counter::drop_unknown_qp, qpn, 1);
}

void Gsi::take(const ib::RxPacket& packet) {
  const wire::Headers& headers = packet.packet.headers;
  const std::uint64_t high = packet.source.high_half(), low = packet.source.low_half();
  count(ib::Counter::rx_packets);
  count(ib::Counter::rx_bytes, packet.packet.payload.size());
  if (headers.bth.opcode != wire::Opcode::ud_send_only)
    return drop(because(ReasonId::mad_wrong_service, headers.bth.opcode, high, low),
                ib::Counter::drop_service);
  const auto pkey = own_pkey(packet);
  if (!pkey)
    return drop(because(ReasonId::drop_pkey_mismatch, headers.bth.pkey, wire::kDefaultPkey),
                ib::Counter::drop_pkey);
  if (headers.deth.qkey != mad::kGsiQkey)
    return drop(because(ReasonId::mad_wrong_qkey, headers.deth.qkey, headers.deth.source.value, high, low),
                ib::Counter::drop_qkey);
  if (packet.packet.payload.size() != mad::kMadBytes)
    return drop(because(ReasonId::mad_wrong_length, packet.packet.payload.size(), high, low),
                ib::Counter::drop_length);
  const device::GidEntry* const own = find_own(packet);
  if (own == nullptr)
    return drop(because(ReasonId::mad_wrong_gid, packet.destination.high_half(),
                        packet.destination.low_half(), high, low),
                ib::Counter::drop_unknown_qp);
  mad::Address from;
  from.local = packet.destination;
  from.remote = packet.source;
  from.interface_index = own->interface_index;
  from.remote_qpn = headers.deth.source;
  from.pkey = *pkey;
  from.traffic_class = packet.traffic_class;
  from.hop_limit = packet.hop_limit;
  from.flow_label = packet.flow_label;
  from.local_lid = packet.dlid;
  from.remote_lid = packet.slid;
  from.sl = packet.service_level;
  handler_(from, packet.packet.payload);
}

// QP1 takes any P_Key of its port's table (IBTA 10.9.2). A packet of a limited member is answered by the full
// one that the port is.
std::optional<std::uint16_t> Gsi::own_pkey(const ib::RxPacket& packet) const {
  const std::uint16_t pkey = packet.packet.headers.bth.pkey;
  const bool infiniband = packet.is_infiniband();
  const auto entry = infiniband ? entry_of(packet.interface_index, pkey) : std::optional(wire::kDefaultPkey);
  if (!entry || !device::pkeys_match(*entry, pkey)) return std::nullopt;
  return infiniband ? *entry : pkey;
}

const device::GidEntry* Gsi::find_own(const ib::RxPacket& packet) const {
  if (packet.is_infiniband() && !packet.has_global_route()) {
    const auto own = std::find_if(addresses_.begin(), addresses_.end(), [&](const device::GidEntry& entry) {
      return is_lid_of(entry, packet.interface_index, packet.dlid);
    });
    return own != addresses_.end() ? &*own : nullptr;
  }
  // The same link-local address may be on several links. What this host sends itself comes
  // by the loopback: then any.
  const device::GidEntry* found = nullptr;
  for (const device::GidEntry& entry : addresses_) {
    if (entry.gid != packet.destination) continue;
    if (entry.interface_index == packet.interface_index) return &entry;
    if (found == nullptr) found = &entry;
  }
  return found;
}

// ---- counters and reasons

void Gsi::drop(const Reason& reason, ib::Counter counter) { dropped(reason, counter, mad::kGsiQpn, 1); }

void Gsi::dropped(const Reason& reason, ib::Counter counter, Qpn qpn, std::uint64_t packets) {
  count(counter, packets);
  Explanation explanation;
  explanation.reason = reason;
  const bool outgoing = counter == ib::Counter::send_errors || counter == ib::Counter::drop_injected;
  if (outgoing) {
    explanation.peer_qpn = qpn.value;
  } else if (qpn == mad::kGsiQpn) {
    explanation.qpn = qpn.value;
  }
  explain(explanation);
}

void Gsi::count(ib::Counter counter, std::uint64_t by) {
  if (shown_ == nullptr) return;
  shown_->counters[static_cast<std::size_t>(counter)].fetch_add(by, std::memory_order_relaxed);
}

}  // namespace softrnic::daemon
