#include "cma/channels.h"

namespace softrnic::cma {

ChannelNumber Channels::open() {
  while (next_ == 0 || channels_.contains(next_)) ++next_;
  channels_.try_emplace(next_);
  return next_++;
}

void Channels::close(ChannelNumber channel) {
  const auto found = channels_.find(channel);
  if (found == channels_.end()) return;
  events_ -= found->second.events.size();
  channels_.erase(found);
}

const Channels::Channel* Channels::find(ChannelNumber channel) const {
  const auto found = channels_.find(channel);
  return found == channels_.end() ? nullptr : &found->second;
}

std::size_t Channels::ids(ChannelNumber channel) const {
  const Channel* const found = find(channel);
  return found == nullptr ? 0 : found->ids;
}

std::size_t Channels::events(ChannelNumber channel) const {
  const Channel* const found = find(channel);
  return found == nullptr ? 0 : found->events.size();
}

std::uint32_t Channels::withdrawn(ChannelNumber channel) const {
  const Channel* const found = find(channel);
  return found == nullptr ? 0 : found->withdrawn;
}

void Channels::id_left(ChannelNumber channel) {
  if (const auto found = channels_.find(channel); found != channels_.end()) --found->second.ids;
}

bool Channels::put(ChannelNumber channel, Event event) {
  const auto found = channels_.find(channel);
  if (found == channels_.end()) return false;
  found->second.events.push_back(std::move(event));
  ++events_;
  return true;
}

std::optional<Event> Channels::take(ChannelNumber channel) {
  const auto found = channels_.find(channel);
  if (found == channels_.end() || found->second.events.empty()) return std::nullopt;
  Event event = std::move(found->second.events.front());
  found->second.events.pop_front();
  --events_;
  return event;
}

}  // namespace softrnic::cma
