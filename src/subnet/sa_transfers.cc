#include "subnet/sa_transfers.h"

#include <algorithm>
#include <utility>

#include "mad/sa_header.h"

namespace softrnic::subnet {
namespace {

template <typename Map>
std::size_t count_of(const Map& transfers, Lid lid) {
  return static_cast<std::size_t>(
      std::ranges::count_if(transfers, [lid](const auto& transfer) { return transfer.first.lid == lid; }));
}

}  // namespace

bool SaTransfers::has_room(Lid lid) const {
  return size() < kMost && count_of(sending_, lid) + count_of(receiving_, lid) < kMostOfPort;
}

template <typename Transfer>
void SaTransfers::flush(const DatagramAddress& to, Transfer& transfer, TimePoint now) {
  mad::Mad mad{};
  while (transfer.next(now, mad)) port_.send(to, mad);
}

bool SaTransfers::send(const DatagramAddress& to, std::uint64_t transaction, std::vector<std::byte> message,
                       TimePoint now) {
  const std::size_t bytes = message.size();
  if (!has_room(to.lid) || bytes_ + bytes > kMostBytes) return false;
  const auto [made, is_new] = sending_.try_emplace(
      key_of(to, transaction),
      Sending{to, bytes, mad::RmppSender(std::move(message), {.data_offset = mad::kSaDataOffset})});
  if (!is_new) return false;
  bytes_ += bytes;
  flush(to, made->second.sender, now);
  return true;
}

std::optional<std::vector<std::byte>> SaTransfers::receive(const DatagramAddress& from, const mad::Mad& mad,
                                                           TimePoint now) {
  const auto header = mad::parse_header(mad);
  if (!header) return std::nullopt;
  const Key key = key_of(from, header->transaction);
  const mad::RmppType type = mad::decode_rmpp(mad).type;
  if (const auto sending = sending_.find(key); sending != sending_.end() && type != mad::RmppType::data) {
    sending->second.sender.receive(mad, now);
    flush(from, sending->second.sender, now);
    return std::nullopt;
  }
  auto found = receiving_.find(key);
  if (found == receiving_.end()) {
    if (type != mad::RmppType::data || !has_room(from.lid)) return std::nullopt;
    const mad::RmppReceiving how{.data_offset = mad::kSaDataOffset, .most_bytes = kMostRequestBytes};
    found = receiving_.emplace(key, Receiving{from, mad::RmppReceiver(how)}).first;
  }
  mad::RmppReceiver& receiver = found->second.receiver;
  const bool was_receiving = receiver.state() == mad::RmppReceiver::State::receiving;
  receiver.receive(mad, now);
  flush(from, receiver, now);
  if (!was_receiving || receiver.state() != mad::RmppReceiver::State::done) return std::nullopt;
  return receiver.take_message();
}

void SaTransfers::advance(TimePoint now) {
  for (auto at = sending_.begin(); at != sending_.end();) {
    flush(at->second.to, at->second.sender, now);
    const bool is_over = at->second.sender.state() != mad::RmppSender::State::sending;
    if (is_over) bytes_ -= at->second.bytes;
    at = is_over ? sending_.erase(at) : std::next(at);
  }
  for (auto at = receiving_.begin(); at != receiving_.end();) {
    flush(at->second.from, at->second.receiver, now);
    at = at->second.receiver.can_be_forgotten(now) ? receiving_.erase(at) : std::next(at);
  }
}

TimePoint SaTransfers::deadline() const {
  TimePoint earliest = kNever;
  for (const auto& [key, transfer] : sending_) earliest = std::min(earliest, transfer.sender.deadline());
  for (const auto& [key, transfer] : receiving_) earliest = std::min(earliest, transfer.receiver.deadline());
  return earliest;
}

void SaTransfers::clear() {
  sending_.clear();
  receiving_.clear();
  bytes_ = 0;
}

}  // namespace softrnic::subnet
