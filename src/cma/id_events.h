// The events of ids: told, waiting in the channels that the ids report to, fetched. What an Id counts of them
// is kept here alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "cma/channels.h"
#include "cma/id_table.h"

namespace softrnic::cma {

class IdEvents {
 public:
  /// Not fetched yet, of whatever kind, when another is written: any user may write as many as he likes.
  static constexpr std::size_t kMost = 65536;
  /// A channel has one more. Must not call back.
  using Queued = std::function<void(ChannelNumber channel)>;

  /// `ids` outlives this object.
  IdEvents(IdTable& ids, Queued queued) : ids_(ids), queued_(std::move(queued)) {}

  // ---- channels
  const Channels& channels() const { return channels_; }
  ChannelNumber open_channel() { return channels_.open(); }
  void close_channel(ChannelNumber channel) { channels_.close(channel); }
  /// A new id reports to the channel.
  void attach(Id& id, ChannelNumber channel);
  /// An id that ends does no more.
  void detach(const Id& id) { channels_.id_left(id.channel); }
  /// With the events that nobody fetched. EINVAL: no such channel.
  Expected<void, Failure> migrate(Id& id, ChannelNumber channel);

  // ---- told and fetched
  /// Unless the program knows nothing of the id, or wants to hear no more of it.
  void tell(Id& id, Event event);
  void tell_failure(Id& id, std::uint32_t kind, int status, const Reason& reason);
  /// Another request may wait there for the program: it is not on its way to be destroyed, its backlog is not
  /// full, and there may be another id.
  bool has_room(const Id& listener) const;
  /// `request` came through `listener`, and nobody knows of it before this event was fetched.
  void tell_request(Id& listener, Id& request, Event event);
  /// An event of the program's own; see Manager::write_event().
  Expected<void, Failure> write(Id& id, std::uint32_t kind, int status, std::uint64_t argument);
  /// The next one, which counts as fetched from then on. Nothing when there is none.
  std::optional<Event> fetch(ChannelNumber channel);

  // ---- dropped
  /// Those of an id that nobody fetched. Requests that came through it, and that nobody has heard of.
  std::vector<IdNumber> drop(Id& id);
  void drop(Id& id, MembershipNumber membership);
  /// The event that tells of this request, which nobody fetched and whose peer has gone. False: it is the
  /// only one of its channel, and stays. The program may have found the channel readable, and would wait.
  bool drop_request(Id& request);

 private:
  void put(Id& id, Event event);
  void move(Id& id, ChannelNumber channel);
  void count_fetched(const Event& event);

  IdTable& ids_;
  Queued queued_;
  Channels channels_;
};

}  // namespace softrnic::cma
