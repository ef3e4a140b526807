#include "fabricd/fabric_cable.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace softrnic::fabricd {

FabricCable::FabricCable(daemon::EventLoop& loop, fabric::Engine& engine, fabric::NodeAgents& agents,
                         fabric::PortId remote)
    : loop_(loop), engine_(engine), agents_(agents), link_(engine, remote) {}

FabricCable::~FabricCable() {
  if (stream_ != nullptr) loop_.forget(stream_->fd());
}

void FabricCable::connect(std::unique_ptr<MessageStream> stream, std::string peer, TimePoint now) {
  if (stream_ != nullptr) loop_.forget(stream_->fd());
  stream_ = std::move(stream);
  peer_ = std::move(peer);
  addresses_.clear();
  told_addresses_.reset();
  ended_ = waits_to_write_ = false;
  heard_ = told_ = now;
  watch();
  link_.connect([this](const fabric::RemoteLinkStatus& status) { tell_link(status); });
  changed();
  readable();  // it may have said something behind its greeting
}

void FabricCable::disconnect() {
  loop_.forget(stream_->fd());
  stream_.reset();
  addresses_.clear();
  link_.disconnect();
  changed();
}

void FabricCable::watch() {
  const std::uint32_t events = waits_to_write_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
  if (!loop_.watch(stream_->fd(), events, [this] { readable(); })) ended_ = true;
}

void FabricCable::tell_link(const fabric::RemoteLinkStatus& status) {
  const fabric::EnginePort* const port = engine_.port(remote())->peer;
  const fabric::ManagedPort* const managed = agents_.port(port->id);
  CableLink message{status, {}};
  if (managed != nullptr) message.settings = fabric::settings_of(managed->info);
  stream_->put(message);
}

void FabricCable::tell_addresses(const std::vector<CableAddress>& list) {
  if (stream_ == nullptr || told_addresses_ == list) return;
  told_addresses_ = list;
  CableAddresses message;
  std::size_t at = 0;
  do {
    const std::size_t size = std::min(list.size() - at, CableAddresses::kMost);
    const auto from = list.begin() + static_cast<std::ptrdiff_t>(at);
    message.list.assign(from, from + static_cast<std::ptrdiff_t>(size));
    stream_->put(message);
    message.first = false;
    at += size;
  } while (at < list.size());
}

void FabricCable::carry(const fabric::Packet& packet) {
  if (stream_ == nullptr) return;
  if (packet.is_management() && stream_->waiting() > kMostManagement) return;
  stream_->put(CablePacket{packet.damaged, packet.bytes()});
}

void FabricCable::carry(const wire::FlowControlPacket& packet) {
  if (stream_ != nullptr) stream_->put(packet);
}

// What ends the connection is left to advance(): this may be called in the middle of something.
void FabricCable::readable() {
  if (ended_) return;
  ended_ = !stream_->receive();
  while (const auto bytes = stream_->next()) {
    heard_ = monotonic_now();
    const auto message = parse_cable_message(*bytes);
    if (!message || !take(*message)) {
      ended_ = true;
      return;
    }
  }
  ended_ = ended_ || stream_->is_malformed();
}

/// False: that is no message for here.
bool FabricCable::take(const CableMessage& message) {
  if (const auto* packet = std::get_if<CablePacket>(&message))
    return engine_.hear(remote(), packet->bytes, packet->damaged);
  if (const auto* flow_control = std::get_if<wire::FlowControlPacket>(&message))
    return engine_.hear(remote(), *flow_control);
  if (const auto* link = std::get_if<CableLink>(&message)) {
    agents_.set_remote_settings(remote(), link->settings);
    link_.hear(link->status);
    return true;
  }
  if (const auto* addresses = std::get_if<CableAddresses>(&message)) return take_addresses(*addresses);
  return std::holds_alternative<CableKeepalive>(message);
}

bool FabricCable::take_addresses(const CableAddresses& message) {
  if (message.first) addresses_.clear();
  if (addresses_.size() + message.list.size() > kMostAddresses) return false;
  addresses_.insert(addresses_.end(), message.list.begin(), message.list.end());
  changed();
  return true;
}

TimePoint FabricCable::deadline() const {
  if (stream_ == nullptr) return kNever;
  if (ended_) return {};
  return std::min(heard_ + kSilence, told_ + kKeepalive);
}

void FabricCable::advance(TimePoint now) {
  if (stream_ == nullptr) return;
  if (stream_->waiting() > 0) told_ = now;
  if (now - told_ >= kKeepalive) {
    stream_->put(CableKeepalive{});
    told_ = now;
  }
  const bool is_lost = !stream_->flush() || stream_->waiting() > kMostWaiting || now - heard_ >= kSilence;
  if (ended_ || is_lost) return disconnect();
  const bool waits = stream_->waiting() > 0;
  if (std::exchange(waits_to_write_, waits) != waits) watch();
}

}  // namespace softrnic::fabricd
