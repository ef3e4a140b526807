#include "cma/manager.h"

#include <algorithm>
#include <cerrno>

namespace softrnic::cma {
namespace {

/// Port spaces decide on the service, except IB, which leaves it to the program. As the kernel's ucma.
std::optional<ibv_qp_type> qp_type_of(PortSpace space, std::uint8_t wanted) {
  if (space == PortSpace::tcp) return IBV_QPT_RC;
  if (space == PortSpace::udp) return IBV_QPT_UD;
  if (wanted == IBV_QPT_RC || wanted == IBV_QPT_UC || wanted == IBV_QPT_UD)
    return static_cast<ibv_qp_type>(wanted);
  return std::nullopt;
}

}  // namespace

Manager::Manager(cma::Host& host, std::uint64_t guid)
    : host_(host),
      cm_(*this, guid),
      events_(ids_, [&host](ChannelNumber channel) { host.event_queued(channel); }),
      memberships_(ids_, events_),
      listeners_(cm_),
      patience_(cm_) {}

// ---- channels

Expected<void, Failure> Manager::close_channel(ChannelNumber number) {
  if (!events_.channels().has(number))
    return Unexpected{refuse(EINVAL, ReasonId::cma_no_such_channel, number)};
  const std::size_t left = events_.channels().ids(number);
  if (left == 0) {
    events_.close_channel(number);
    return {};
  }
  host_.explain(because(ReasonId::cma_ids_ended, left), {});
  abandon({number});
  return {};
}

void Manager::abandon(const std::set<ChannelNumber>& channels) {
  std::vector<IdNumber> ids;
  for (const auto& [number, id] : ids_.all())
    if (channels.contains(id->channel)) ids.push_back(number);
  for (const IdNumber id : ids) forget(id);
  for (const ChannelNumber channel : channels) events_.close_channel(channel);
}

std::optional<Event> Manager::next_event(ChannelNumber channel) {
  auto event = events_.fetch(channel);
  if (event) memberships_.count_fetched(event->membership);
  return event;
}

Expected<void, Failure> Manager::write_event(IdNumber number, std::uint32_t kind, int status,
                                             std::uint64_t argument) {
  const auto id = ids_.find_named(number);
  if (!id) return Unexpected{id.error()};
  return events_.write(**id, kind, status, argument);
}

Id& Manager::make_id(ChannelNumber channel, PortSpace space, ibv_qp_type type) {
  Id& id = ids_.add(space, type, host_.random_number() & 0xffffff);
  events_.attach(id, channel);
  return id;
}

Expected<IdNumber, Failure> Manager::create(const Creation& creation) {
  if (!events_.channels().has(creation.channel))
    return Unexpected{refuse(EINVAL, ReasonId::cma_no_such_channel, creation.channel)};
  const auto space = port_space_of(creation.port_space);
  if (!space) return Unexpected{refuse(EPROTONOSUPPORT, ReasonId::cma_port_space, creation.port_space)};
  const auto type = qp_type_of(*space, creation.qp_type);
  if (!type) return Unexpected{refuse(EINVAL, ReasonId::bad_qp_type, creation.qp_type)};
  if (ids_.full()) return Unexpected{refuse(ENOMEM, ReasonId::cma_too_many_ids, IdTable::kMost)};
  Id& id = make_id(creation.channel, *space, *type);
  id.cookie = creation.cookie;
  return id.number;
}

Expected<std::uint32_t, Failure> Manager::destroy(IdNumber number) {
  const auto id = ids_.find_named(number);
  if (!id) return Unexpected{id.error()};
  const std::uint32_t fetched = (*id)->fetched_events;
  forget(number);
  return fetched;
}

Expected<std::uint32_t, Failure> Manager::quiesce(IdNumber number) {
  const auto id = ids_.find_named(number);
  if (!id) return Unexpected{id.error()};
  (*id)->quiet = true;
  return (*id)->queued_events;
}

Expected<std::uint32_t, Failure> Manager::migrate(IdNumber number, ChannelNumber to) {
  const auto id = ids_.find_named(number);
  if (!id) return Unexpected{id.error()};
  const auto migrated = events_.migrate(**id, to);
  if (!migrated) return Unexpected{migrated.error()};
  return (*id)->fetched_events;
}

Expected<MembershipNumber, Failure> Manager::join_multicast(IdNumber number, std::uint64_t cookie,
                                                            std::uint32_t flags, const SocketAddress& group) {
  const auto id = ids_.find_for(number, Call::join_multicast);
  if (!id) return Unexpected{id.error()};
  return memberships_.join(**id, cookie, flags, group);
}

void Manager::forget(IdNumber number) {
  if (const std::unique_ptr<Id> id = ids_.take(number)) release(*id);
}

void Manager::release(Id& id) {
  if (id.state == State::address_query) host_.cancel_resolve(id.number);
  unattend(id);
  if (id.connection.value != 0) cm_.destroy(id.connection, host_.now());
  // nobody knows of the requests that came through a listener which is gone
  for (const IdNumber request : events_.drop(id)) forget(request);
  release_port(id);
  patience_.answered(id.number);
  memberships_.leave_all(id.number);
  events_.detach(id);
}

std::optional<IdView> Manager::view(IdNumber number) const {
  const Id* id = ids_.find(number);
  if (id == nullptr) return std::nullopt;
  IdView view;
  view.id = number;
  view.state = id->state;
  view.space = id->space;
  view.qp_type = id->qp_type;
  view.source = id->source;
  view.destination = id->destination;
  view.binding = id->binding;
  view.destination_gid = id->destination_gid;
  view.has_path = id->has_path;
  view.path = id->path;
  view.packet_life_time = id->packet_life_time;
  view.local_qpn = id->qpn;
  view.remote_qpn = id->agreement.remote_qpn;
  return view;
}

ChannelNumber Manager::channel_of(IdNumber number) const {
  const Id* id = ids_.find(number);
  return id == nullptr ? 0 : id->channel;
}

void Manager::advance() {
  const TimePoint now = host_.now();
  cm_.advance(now);
  refuse_early([now](const EarlyRequests::Request& early) { return early.until <= now; });
  patience_.advance(now);
}

TimePoint Manager::deadline() const {
  return std::min({patience_.deadline(), early_.deadline(), cm_.deadline()});
}

}  // namespace softrnic::cma
