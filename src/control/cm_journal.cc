#include "control/cm_journal.h"

#include <poll.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/reason_id.h"
#include "control/client.h"

namespace softrnic::control {
namespace {

/// Where the daemon's number has another meaning in this process
constexpr std::uint32_t kOwnNumbers = 1U << 31;

/// The daemon's number, which people see in listings too, unless an earlier daemon had given it to
/// something that is still there.
template <typename Map>
std::uint32_t free_number(const Map& taken, std::uint32_t wanted) {
  if (!taken.contains(wanted)) return wanted;
  std::uint32_t number = kOwnNumbers;
  while (taken.contains(number)) ++number;
  return number;
}

bool gone(const Error& error) { return error.failure.reason.id == ReasonId::daemon_gone; }

template <typename Map>
typename Map::mapped_type* find_in(Map& map, std::uint32_t number) {
  const auto found = map.find(number);
  return found == map.end() ? nullptr : &found->second;
}

/// The program cannot tell two of them apart, nor need we.
bool same(const CmWriteEvent& a, const CmWriteEvent& b) {
  return a.id == b.id && a.event == b.event && a.status == b.status && a.argument == b.argument;
}

}  // namespace

std::uint32_t CmJournal::add_channel(std::uint32_t daemons, rnic::EventCount& count) {
  const std::uint32_t own = free_number(channels_, daemons);
  channels_[own] = {.number = daemons, .count = &count, .withdrawn = 0, .own_events = {}};
  return own;
}

CmNumber CmJournal::add_id(CmNumber daemons, const CmCreateId& creation) {
  const CmNumber own = free_number(ids_, daemons);
  Id& id = ids_[own];
  id = {};
  id.number = daemons;
  id.creation = creation;
  own_ids_[daemons] = own;
  return own;
}

CmNumber CmJournal::add_membership(CmNumber daemons) {
  if (const CmNumber* known = find_in(own_memberships_, daemons)) return *known;
  const CmNumber own = free_number(memberships_, daemons);
  memberships_[own] = daemons;
  own_memberships_[daemons] = own;
  return own;
}

void CmJournal::remove_channel(std::uint32_t channel) { channels_.erase(channel); }

void CmJournal::remove_id(CmNumber number) {
  const Id* const removed = id(number);
  if (removed == nullptr) return;
  if (Channel* const of = channel(removed->creation.channel))
    of->count->withdraw(
        std::erase_if(of->own_events, [number](const CmEventReply& event) { return event.id == number; }));
  own_ids_.erase(removed->number);
  ids_.erase(number);
}

void CmJournal::remove_membership(CmNumber membership) {
  own_memberships_.erase(daemons_membership(membership));
  memberships_.erase(membership);
}

void CmJournal::withdraw(std::uint32_t number, std::uint32_t withdrawn) {
  if (Channel* const of = channel(number)) of->count->withdraw(of->news(withdrawn));
}

void CmJournal::found_none(std::uint32_t number, std::uint32_t withdrawn) {
  if (Channel* const of = channel(number)) of->count->found_none(of->news(withdrawn));
}

// Answers to several threads may come here in another order than the daemon gave them.
std::uint32_t CmJournal::Channel::news(std::uint32_t told) {
  const std::uint32_t more = told - withdrawn;
  if (more > UINT32_MAX / 2) return 0;
  withdrawn = told;
  return more;
}

std::uint32_t CmJournal::channel_of(CmNumber number) {
  const Id* const found = id(number);
  return found == nullptr ? 0 : found->creation.channel;
}

CmJournal::Channel* CmJournal::channel(std::uint32_t number) { return find_in(channels_, number); }
CmJournal::Id* CmJournal::id(CmNumber number) { return find_in(ids_, number); }

std::uint32_t CmJournal::daemons_channel(std::uint32_t number) {
  const Channel* found = channel(number);
  return found == nullptr ? 0 : found->number;
}

CmNumber CmJournal::daemons_id(CmNumber number) {
  const Id* found = id(number);
  return found == nullptr ? 0 : found->number;
}

CmNumber CmJournal::daemons_membership(CmNumber number) const {
  const auto found = memberships_.find(number);
  return found == memberships_.end() ? 0 : found->second;
}

void CmJournal::translate(CmEventReply& event, std::uint32_t channel) {
  if (event.membership != 0) event.membership = add_membership(event.membership);
  if (const CmNumber* known = find_in(own_ids_, event.id)) {
    event.id = *known;
    if (event.event > RDMA_CM_EVENT_TIMEWAIT_EXIT) {
      auto written = make_message<CmWriteEvent>();
      written.id = event.id;
      written.event = event.event;
      written.status = event.status;
      written.argument = event.argument;
      forget_written(written);
    } else {
      ids_[event.id].awaited = 0;
    }
  } else if (event.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
    auto creation = make_message<CmCreateId>();
    creation.channel = channel;
    event.id = add_id(event.id, creation);
    ids_[event.id].has_peer = true;
  }
}

// ---- events of the program's own

void CmJournal::note_written(const CmWriteEvent& event) {
  if (Id* const of = id(event.id)) of->written.push_back({event});
}

void CmJournal::confirm_written(const CmWriteEvent& event) {
  Id* const of = id(event.id);
  if (of == nullptr) return;
  const auto found = std::find_if(of->written.rbegin(), of->written.rend(), [&](const Written& written) {
    return !written.confirmed && same(written.event, event);
  });
  if (found != of->written.rend()) found->confirmed = true;
}

void CmJournal::forget_written(const CmWriteEvent& event) {
  Id* const of = id(event.id);
  if (of == nullptr) return;
  const auto found = std::find_if(of->written.begin(), of->written.end(),
                                  [&](const Written& written) { return same(written.event, event); });
  if (found != of->written.end()) of->written.erase(found);
}

// ---- after a daemon's death

bool CmJournal::tell(Client& daemon) {
  own_ids_.clear();
  own_memberships_.clear();
  for (auto& [own, daemons] : memberships_) daemons = 0;
  for (auto& [own, channel] : channels_)
    if (!tell_channel(daemon, channel)) return false;
  for (auto& [own, id] : ids_)
    if (!tell_id(daemon, own, id)) return false;
  return true;
}

bool CmJournal::tell_channel(Client& daemon, Channel& channel) {
  // What the dead one had counted is gone with it.
  channel.withdrawn = 0;
  channel.count->restart(channel.own_events.size());
  const auto reply = daemon.ask_for<CmChannelReply>(make_message<CmOpenChannel>(), channel.count->fd());
  channel.number = reply ? reply->channel : 0;
  return reply || !gone(reply.error());
}

bool CmJournal::tell_id(Client& daemon, CmNumber own, Id& id) {
  id.number = 0;
  CmCreateId creation = id.creation;
  creation.channel = daemons_channel(creation.channel);
  if (id.has_peer || creation.channel == 0) {
    lose(own, id);
    return true;
  }
  const auto made = daemon.ask_for<CmIdReply>(creation);
  if (!made && gone(made.error())) return false;
  if (made) {
    id.number = made->id;
    own_ids_[id.number] = own;
    if (!tell_state(daemon, id)) return false;
  }
  if (id.number == 0) say_written(id);
  return true;
}

bool CmJournal::tell_state(Client& daemon, Id& id) {
  Expected<void, Error> told;
  const auto tell = [&](auto request, auto reply) {
    if (!told) return;
    request.id = id.number;
    const auto answer = daemon.ask_for<decltype(reply)>(request);
    if (!answer) told = Unexpected{answer.error()};
  };
  for (const CmSetOption& option : id.options) tell(option, Done{});
  if (id.bound) {
    auto request = make_message<CmBind>();
    request.address = *id.bound;
    tell(request, CmIdReply{});
  }
  if (id.backlog) {
    auto request = make_message<CmListen>();
    request.backlog = *id.backlog;
    tell(request, Done{});
  }
  for (const Written& written : id.written)
    if (written.confirmed) tell(written.event, Done{});
  if (told) return true;
  if (gone(told.error())) return false;
  auto unwanted = make_message<CmDestroyId>();  // another program has its port by now
  unwanted.id = id.number;
  static_cast<void>(daemon.ask_for<CmEventsReply>(unwanted));
  own_ids_.erase(id.number);
  id.number = 0;
  return true;
}

void CmJournal::lose(CmNumber own, Id& id) {
  if (const std::uint32_t event = std::exchange(id.awaited, 0)) say(own, event);
  say_written(id);
}

void CmJournal::say_written(Id& id) {
  for (const Written& written : std::exchange(id.written, {}))
    if (written.confirmed) say(written.event);
}

void CmJournal::say(CmNumber own, std::uint32_t kind) {
  auto event = make_message<CmEventReply>();
  event.event = kind;
  event.id = own;
  if (kind != RDMA_CM_EVENT_DISCONNECTED) {
    event.status = -EIO;
    event.reason = static_cast<std::uint32_t>(ReasonId::daemon_gone);
  }
  put(event);
}

void CmJournal::say(const CmWriteEvent& written) {
  auto event = make_message<CmEventReply>();
  event.event = written.event;
  event.status = written.status;
  event.argument = written.argument;
  event.id = written.id;
  put(event);
}

bool CmJournal::is_lost(CmNumber number) {
  const Id* const found = id(number);
  return found != nullptr && found->number == 0;
}

void CmJournal::put(CmEventReply event) {
  const Id& about = ids_.at(event.id);
  Channel* const where = channel(about.creation.channel);
  if (where == nullptr) return;
  event.present = 1;
  event.cookie = about.creation.cookie;
  where->own_events.push_back(event);
  // A full counter, which the program may have made, would block its writer, and wakes the program anyway.
  pollfd ready{where->count->fd(), POLLOUT, 0};
  if (poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0) where->count->add();
}

}  // namespace softrnic::control
