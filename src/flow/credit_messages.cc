#include "flow/credit_messages.h"

#include <memory>
#include <utility>

namespace softrnic::flow {
namespace {

constexpr auto kVendorClass = static_cast<mad::ManagementClass>(0x09);  // 0x09 to 0x0f are the vendors'
constexpr std::uint16_t kTaken = 0x0010;  // attribute: what has been taken, and the buffer in the modifier
constexpr std::uint32_t kQkey = 0x53524e43;

}  // namespace

void CreditLetters::observe(Path& window, const ib::AddressVector& path, std::uint8_t peer, bool local) {
  if (questions_.capacity() <= askers_.size()) questions_.reserve(2 * askers_.size() + 1);
  auto credit = std::make_unique<PeerCredit>(static_cast<std::uint32_t>(askers_.size()), questions_, local);
  askers_.push_back({credit.get(), path, peer});
  window.observe(*credit);
  window.credit = std::move(credit);
}

bool CreditLetters::receive(const ib::RxPacket& rx, PathTable& paths, TimePoint now, bool answers) {
  const wire::Packet& packet = rx.packet;
  if (packet.headers.bth.opcode != wire::Opcode::ud_send_only || packet.headers.deth.qkey != kQkey)
    return false;
  const auto header = mad::parse_header(packet.payload);
  if (!header || header->management_class != kVendorClass || header->attribute != kTaken) return false;
  const std::uint8_t peer = packet.headers.deth.source.lane();
  if (header->method == mad::Method::get_response) {
    Path* const path = paths.find(rx.source, peer);
    if (path != nullptr && path->credit != nullptr)
      path->credit->answered(header->transaction, header->modifier);
    return true;
  }
  if (header->method != mad::Method::get) return false;
  if (!answers) return true;
  ib::AddressVector back;
  back.source = rx.destination;
  back.destination = rx.source;
  if (rx.source.is_link_local()) back.interface_index = rx.interface_index;
  const std::uint32_t share = buffer_ / sharers_.count({rx.source, peer}, now);
  write(back, peer, mad::Method::get_response, header->transaction, share);
  return true;
}

void CreditLetters::write(const ib::AddressVector& path, std::uint8_t peer, mad::Method method,
                          std::uint64_t place, std::uint32_t share) {
  if (letters_.size() - sent_ >= kMostLetters) return;  // one that is lost is asked for again
  Letter& letter = letters_.emplace_back();
  letter.path = path;
  letter.to = Qpn::of(peer, Qpn::kLaneIndex);
  letter.mad = {};
  mad::Header header;
  header.management_class = kVendorClass;
  header.class_version = 1;
  header.method = method;
  header.transaction = place;
  header.attribute = kTaken;
  header.modifier = share;
  mad::encode_header(header, letter.mad);
}

void CreditLetters::send(const std::function<void(const ib::TxPacket&)>& send) {
  letters_.erase(letters_.begin(), letters_.begin() + static_cast<std::ptrdiff_t>(sent_));
  sent_ = 0;
  while (!questions_.empty()) {
    const Asker& asker = askers_[questions_.back()];
    questions_.pop_back();
    write(asker.path, asker.peer, mad::Method::get, asker.credit->take_question(), 0);
  }
  ib::TxPacket packet;
  for (const Letter& letter : letters_) {
    packet.path = &letter.path;
    packet.headers = {};
    packet.headers.bth.opcode = wire::Opcode::ud_send_only;
    packet.headers.bth.destination = letter.to;
    packet.headers.deth.qkey = kQkey;
    packet.headers.deth.source = Qpn::of(lane_, Qpn::kLaneIndex);
    packet.fragments[0] = {letter.mad.data(), letter.mad.size()};
    packet.fragment_count = 1;
    packet.payload_bytes = static_cast<std::uint32_t>(letter.mad.size());
    send(packet);
  }
  sent_ = letters_.size();
}

}  // namespace softrnic::flow
