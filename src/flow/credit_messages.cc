#include "flow/credit_messages.h"

#include <memory>
#include <utility>

#include "transport/ib/rx_packet.h"

namespace softrnic::flow {
namespace {

constexpr auto kVendorClass = static_cast<mad::ManagementClass>(0x09);  // 0x09 to 0x0f are the vendors'
constexpr std::uint16_t kTaken = 0x0010;  // attribute: what has been taken, and the buffer in the modifier
constexpr std::uint32_t kQkey = 0x53524e43;

}  // namespace

void CreditMessages::observe(Path& window, const ib::AddressVector& path, std::uint8_t peer, bool local) {
  if (probes_.capacity() <= probers_.size()) probes_.reserve(2 * probers_.size() + 1);
  auto credit = std::make_unique<PeerCredit>(static_cast<std::uint32_t>(probers_.size()), probes_, local);
  probers_.push_back({credit.get(), path, peer});
  window.set_credit(std::move(credit));
}

bool CreditMessages::receive(const ib::RxPacket& rx, PathTable& paths, TimePoint now, bool reports) {
  const wire::Packet& packet = rx.packet;
  if (packet.headers.bth.opcode != wire::Opcode::ud_send_only || packet.headers.deth.qkey != kQkey)
    return false;
  const auto header = mad::parse_header(packet.payload);
  if (!header || header->management_class != kVendorClass || header->attribute != kTaken) return false;
  const std::uint8_t peer = packet.headers.deth.source.lane();
  if (header->method == mad::Method::get_response) {
    Path* const path = paths.find(rx.source, peer);
    if (path != nullptr && path->credit() != nullptr)
      path->credit()->reported(header->transaction, header->modifier);
    return true;
  }
  if (header->method != mad::Method::get) return false;
  if (!reports) return true;
  ib::AddressVector back;
  back.source = rx.destination;
  back.destination = rx.source;
  if (rx.source.is_link_local()) back.interface_index = rx.interface_index;
  const std::uint32_t share = buffer_ / sharers_.count({rx.source, peer}, now);
  write(back, peer, mad::Method::get_response, header->transaction, share);
  return true;
}

void CreditMessages::write(const ib::AddressVector& path, std::uint8_t peer, mad::Method method,
                           std::uint64_t place, std::uint32_t share) {
  if (outbox_.size() - sent_ >= kMostMessages) return;  // one that is lost is asked for again
  Message& message = outbox_.emplace_back();
  message.path = path;
  message.to = Qpn::of(peer, Qpn::kLaneIndex);
  message.mad = {};
  mad::Header header;
  header.management_class = kVendorClass;
  header.class_version = 1;
  header.method = method;
  header.transaction = place;
  header.attribute = kTaken;
  header.modifier = share;
  mad::encode_header(header, message.mad);
}

void CreditMessages::send(const std::function<void(const ib::TxPacket&)>& send) {
  outbox_.erase(outbox_.begin(), outbox_.begin() + static_cast<std::ptrdiff_t>(sent_));
  sent_ = 0;
  while (!probes_.empty()) {
    const Prober& prober = probers_[probes_.back()];
    probes_.pop_back();
    write(prober.path, prober.peer, mad::Method::get, prober.credit->take_probe(), 0);
  }
  ib::TxPacket packet;
  for (const Message& message : outbox_) {
    packet.path = &message.path;
    packet.headers = {};
    packet.headers.bth.opcode = wire::Opcode::ud_send_only;
    packet.headers.bth.destination = message.to;
    packet.headers.deth.qkey = kQkey;
    packet.headers.deth.source = Qpn::of(lane_, Qpn::kLaneIndex);
    packet.fragments[0] = {message.mad.data(), message.mad.size()};
    packet.fragment_count = 1;
    packet.payload_bytes = static_cast<std::uint32_t>(message.mad.size());
    send(packet);
  }
  sent_ = outbox_.size();
}

}  // namespace softrnic::flow
