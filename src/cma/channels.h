// Event channels: the events that were told and not fetched yet, in their order. Whose events they are, and
// how many of each id's were fetched, its users know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "cma/types.h"

namespace softrnic::cma {

class Channels {
 public:
  ChannelNumber open();
  bool has(ChannelNumber channel) const { return channels_.contains(channel); }
  void close(ChannelNumber channel);

  /// Ids report to a channel; 0 also when there is no such channel.
  std::size_t ids(ChannelNumber channel) const;
  void id_came(ChannelNumber channel) { ++channels_[channel].ids; }
  void id_left(ChannelNumber channel);
  /// In all channels.
  std::size_t events() const { return events_; }
  std::size_t events(ChannelNumber channel) const;
  /// How many were removed or moved away so far; wraps.
  std::uint32_t withdrawn(ChannelNumber channel) const;

  /// False: there is no such channel, and nobody hears of it.
  bool put(ChannelNumber channel, Event event);
  std::optional<Event> take(ChannelNumber channel);

  /// Removes the events that chosen(event) is true for, which is asked once of each, in
  /// their order. Their number.
  template <typename Chosen>
  std::size_t remove(ChannelNumber channel, Chosen&& chosen) {
    const auto found = channels_.find(channel);
    if (found == channels_.end()) return 0;
    const std::size_t removed = std::erase_if(found->second.events, chosen);
    events_ -= removed;
    found->second.withdrawn += static_cast<std::uint32_t>(removed);
    return removed;
  }
  /// Moves those to the end of another channel, which there is. Their number.
  template <typename Chosen>
  std::size_t move(ChannelNumber from, ChannelNumber to, Chosen&& chosen) {
    std::deque<Event>& end = channels_.at(to).events;
    return remove(from, [&](Event& event) {
      if (!chosen(std::as_const(event))) return false;
      end.push_back(std::move(event));
      ++events_;
      return true;
    });
  }

 private:
  struct Channel {
    std::deque<Event> events;
    std::size_t ids = 0;
    std::uint32_t withdrawn = 0;
  };

  /// nullptr: there is none.
  const Channel* find(ChannelNumber channel) const;

  std::map<ChannelNumber, Channel> channels_;
  ChannelNumber next_ = 1;
  std::size_t events_ = 0;
};

}  // namespace softrnic::cma
