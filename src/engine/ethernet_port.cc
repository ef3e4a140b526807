#include "engine/ethernet_port.h"

#include <algorithm>
#include <chrono>

#include "rnic/queue_pair.h"

namespace softrnic::engine {

using Filter = link::FrameReceiver::Filter;

EthernetPort::EthernetPort(std::uint32_t interface_index, link::PacketSocket socket)
    : interface_index_(interface_index), address_(socket.address), sender_(std::move(socket.fd)) {}

Expected<std::unique_ptr<EthernetPort>, Failure> EthernetPort::open(std::uint32_t interface_index) {
  auto socket = link::PacketSocket::open(interface_index, link::PacketSocket::Use::send);
  if (!socket) return Unexpected{socket.error()};
  return std::unique_ptr<EthernetPort>(new EthernetPort(interface_index, std::move(*socket)));
}

// Who may is asked for each flow, as ib_uverbs does, and not only where a socket is opened.
Expected<void, Failure> EthernetPort::add(rnic::Flow& flow) {
  if (auto permitted = link::PacketSocket::check_permission(); !permitted) return permitted;
  if (receiver_ == nullptr) {
    auto socket = link::PacketSocket::open(interface_index_, link::PacketSocket::Use::receive);
    if (!socket) return Unexpected{socket.error()};
    receiver_ = std::make_unique<link::FrameReceiver>(std::move(socket->fd));
  }
  table_.add(flow);
  const Wanted wanted = wanted_by(flow);
  receiver_->open_filter(wanted.filter, wanted.address, interface_index_);
  hear();
  return {};
}

void EthernetPort::remove(const rnic::Flow& flow) {
  const Wanted wanted = wanted_by(flow);
  receiver_->close_filter(wanted.filter, wanted.address, interface_index_);
  table_.remove(flow);
  if (table_.empty()) {
    receiver_.reset();
    waits_ = false;
  } else {
    hear();
  }
}

// Who posts none for longer than that has to do without: the frames of the others go on.
std::size_t EthernetPort::may_read(TimePoint now) {
  constexpr Duration kPatience = std::chrono::milliseconds(20);
  std::size_t room = SIZE_MAX;
  table_.for_each([&](const ethernet::FlowRule& rule) {
    if (!rule.drop) room = std::min(room, static_cast<const rnic::Flow&>(rule).target().room_for_frames());
  });
  if (room != 0) {
    out_of_receives_ = kNever;
  } else if (out_of_receives_ == kNever) {
    out_of_receives_ = now;
  }
  waits_ = room == 0 && now - out_of_receives_ < kPatience;
  return waits_ || room != 0 ? room : link::FrameReceiver::kFrames;
}

// Sniffers see what leaves; to all others comes_back() lets only some of it.
void EthernetPort::hear() {
  if (table_.any_of(ethernet::RuleKind::sniffer)) {
    receiver_->hear_all();
  } else {
    receiver_->hear_only(address_.data());
  }
}

// A rule that names a destination needs frames for that one. Others want what comes by, as on an adapter.
EthernetPort::Wanted EthernetPort::wanted_by(const rnic::Flow& flow) const {
  if (flow.kind == ethernet::RuleKind::group_default) return {Filter::all_groups, nullptr};
  const auto& mask = flow.match.mask.stack[0].destination_mac;
  const bool exact =
      std::all_of(mask.begin(), mask.end(), [](std::byte byte) { return byte == std::byte{0xff}; });
  if (flow.kind != ethernet::RuleKind::normal || !exact) return {Filter::everything, nullptr};
  const std::byte* const address = flow.match.value.stack[0].destination_mac.data();
  return {ethernet::is_group(address) ? Filter::group : Filter::address, address};
}

bool EthernetPort::comes_back(const ethernet::ParsedFrame& frame) const {
  const auto& to = frame.key.stack[0].destination_mac;
  return frame.has(ethernet::kEthernet) && (ethernet::is_group(to.data()) || to == address_);
}

}  // namespace softrnic::engine
