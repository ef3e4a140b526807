#include "cma/manager.h"

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"
#include "cma/options.h"
#include "cma/qp_attributes.h"

namespace softrnic::cma {
namespace {

/// Port spaces decide on the service, except IB, which leaves it to the program. As the kernel's ucma.
std::optional<ibv_qp_type> qp_type_of(PortSpace space, std::uint8_t wanted) {
  if (space == PortSpace::tcp) return IBV_QPT_RC;
  if (space == PortSpace::udp) return IBV_QPT_UD;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV})
    if (wanted == type) return type;
  return std::nullopt;
}

}  // namespace

Manager::Manager(cma::Host& host, iwcm::Streams& streams, std::uint64_t guid, const iwcm::Limits& limits)
    : host_(host),
      cm_(*this, guid),
      events_(ids_, [&host](ChannelNumber channel) { host.event_queued(channel); }),
      memberships_(host, ids_, events_),
      ports_(cm_, ids_, devices_),
      patience_(cm_),
      resolution_(host, devices_, ports_, events_),
      requests_({host, cm_, devices_, ids_, events_, ports_, patience_}),
      ib_(cm_, ids_, patience_),
      peer_events_(cm_, events_, patience_),
      iwarp_({host, streams, devices_, ids_, events_, limits}, [this](IdNumber id) { forget(id); }) {}

Connections& Manager::connections_of(const Id& id) {
  if (id.binding.has_streams()) return iwarp_;
  return ib_;
}

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

// ---- ids

Expected<IdNumber, Failure> Manager::create(const Creation& creation) {
  if (!events_.channels().has(creation.channel))
    return Unexpected{refuse(EINVAL, ReasonId::cma_no_such_channel, creation.channel)};
  const auto space = port_space_of(creation.port_space);
  if (!space) return Unexpected{refuse(EPROTONOSUPPORT, ReasonId::cma_port_space, creation.port_space)};
  const auto type = qp_type_of(*space, creation.qp_type);
  if (!type) return Unexpected{refuse(EINVAL, ReasonId::bad_qp_type, creation.qp_type)};
  if (ids_.full()) return Unexpected{refuse(ENOMEM, ReasonId::cma_too_many_ids, IdTable::kMost)};
  Id& id = ids_.add(*space, *type, host_.random_number() & 0xffffff);
  id.user = creation.user;
  id.devices.only = creation.device;
  id.devices.streams = *type == IBV_QPT_RC;
  events_.attach(id, creation.channel);
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

void Manager::forget(IdNumber number) {
  if (const std::unique_ptr<Id> id = ids_.take(number)) release(*id);
}

void Manager::release(Id& id) {
  resolution_.cancel(id);
  unattend(id);
  connections_of(id).end(id, host_.now());
  // nobody knows of the requests that came through a listener which is gone
  for (const IdNumber request : events_.drop(id)) forget(request);
  ports_.release(id);
  memberships_.leave_all(id.number);
  events_.detach(id);
}

void Manager::unattend(Id& id) {
  requests_.listener_goes(id);
  ports_.unattend(id);
  iwarp_.unlisten(id);
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

// ---- addresses

Expected<void, Failure> Manager::bind(IdNumber number, const SocketAddress& address) {
  const auto id = ids_.find_for(number, Call::bind);
  if (!id) return Unexpected{id.error()};
  const auto bound = ports_.bind(**id, address, host_.random_number());
  if (!bound) return bound;
  // an id that is bound on its way to a peer will not listen
  (void)ports_.attend(**id, (*id)->port->port);  // listen() tries again
  return {};
}

Expected<void, Failure> Manager::resolve_address(IdNumber number, const SocketAddress& source,
                                                 const SocketAddress& destination, Duration timeout) {
  const auto id = ids_.find_for(number, Call::resolve_address);
  if (!id) return Unexpected{id.error()};
  return resolution_.resolve_address(**id, source, destination, timeout);
}

void Manager::resolved(IdNumber number, const RouteAnswer& answer) {
  if (Id* const id = ids_.find(number)) resolution_.answered(*id, answer);
}

Expected<void, Failure> Manager::resolve_route(IdNumber number, Duration timeout) {
  const auto id = ids_.find_for(number, Call::resolve_route);
  if (!id) return Unexpected{id.error()};
  return resolution_.resolve_route(**id, timeout);
}

void Manager::path_found(IdNumber number, const PathAnswer& answer) {
  if (Id* const id = ids_.find(number)) resolution_.path_found(*id, answer);
}

// ---- connections

Expected<void, Failure> Manager::listen(IdNumber number, int backlog) {
  const auto found = ids_.find_for(number, Call::listen);
  if (!found) return Unexpected{found.error()};
  Id& id = **found;
  if (id.state == State::idle) {
    const auto bound = ports_.bind(id, SocketAddress::any(Family::ipv4), host_.random_number());
    if (!bound) return bound;
  }
  id.wanted_backlog = backlog;
  id.backlog = backlog_for(backlog);
  const auto listens = begin_to_listen(id);
  if (!listens) return listens;
  id.state = State::listen;
  requests_.listener_came();
  return {};
}

// Both ways by which peers may come. Who listens at the wildcard of devices of both kinds goes without TCP
// where its port is taken at any address, as a program may have that itself, or where no address is usable.
Expected<void, Failure> Manager::begin_to_listen(Id& id) {
  const auto by_stream = iwarp_.listen(id);
  if (!by_stream) {
    const int error = by_stream.error().error;
    const bool only_here = error == EADDRINUSE || IwarpListeners::is_passing(error);
    if (!only_here || id.binding || !devices_.any(id.devices.without_streams())) return by_stream;
    host_.explain(by_stream.error().reason, {});
    id.without_streams = true;
  }
  auto listens = ports_.listen(id);
  if (!listens) iwarp_.unlisten(id);
  return listens;
}

Expected<void, Failure> Manager::connect(IdNumber number, const ConnectionParameters& parameters,
                                         const cm::Ece& ece) {
  const auto id = ids_.find_for(number, Call::connect);
  if (!id) return Unexpected{id.error()};
  return connections_of(**id).connect(**id, parameters, ece, host_.now());
}

Expected<void, Failure> Manager::accept(IdNumber number, std::uint64_t cookie,
                                        const std::optional<ConnectionParameters>& parameters,
                                        const cm::Ece& ece) {
  const auto id = ids_.find_for(number, Call::accept);
  if (!id) return Unexpected{id.error()};
  const auto done = connections_of(**id).accept(**id, parameters, ece, host_.now());
  if (!done) return done;
  if (!(*id)->active) (*id)->cookie = cookie;
  (*id)->accepted = true;
  return {};
}

Expected<void, Failure> Manager::reject(IdNumber number, cm::RejectReason reason, Bytes private_data) {
  const auto id = ids_.find_for(number, Call::reject);
  if (!id) return Unexpected{id.error()};
  return connections_of(**id).reject(**id, reason, private_data, host_.now());
}

Expected<void, Failure> Manager::disconnect(IdNumber number) {
  const auto id = ids_.find_for(number, Call::disconnect);
  if (!id) return Unexpected{id.error()};
  connections_of(**id).disconnect(**id, host_.now());
  return {};
}

std::optional<Handover> Manager::handover(IdNumber number) const {
  const Id* const id = ids_.find(number);
  return id != nullptr ? iwarp_.handover(*id) : std::nullopt;
}

Expected<void, Failure> Manager::has_stream(IdNumber number) {
  const auto id = ids_.find_named(number);
  if (!id) return Unexpected{id.error()};
  return iwarp_.has_stream(**id);
}

Expected<void, Failure> Manager::notify(IdNumber number, std::uint32_t ibv_event) {
  const auto id = ids_.find_for(number, Call::notify);
  if (!id) return Unexpected{id.error()};
  return connections_of(**id).notify(**id, ibv_event, host_.now());
}

// ---- what belongs to ids

Expected<void, Failure> Manager::set_option(IdNumber number, std::uint32_t level, std::uint32_t option,
                                            Bytes value) {
  const auto id = ids_.find_named(number);
  if (!id) return Unexpected{id.error()};
  if (level == RDMA_OPTION_IB && option == RDMA_OPTION_IB_PATH) return resolution_.take_path(**id, value);
  if (level != RDMA_OPTION_ID) return Unexpected{refuse(ENOSYS, ReasonId::cma_option, level, option)};
  const auto set = cma::set_option(**id, option, value);
  if (set) ports_.update(**id);
  return set;
}

Expected<QpAttributes, Failure> Manager::init_qp_attributes(IdNumber number, std::uint32_t state) const {
  const auto id = ids_.find_for(number, Call::init_qp_attributes);
  if (!id) return Unexpected{id.error()};
  return qp_attributes_of(**id, state, devices_);
}

Expected<MembershipNumber, Failure> Manager::join_multicast(IdNumber number, std::uint64_t cookie,
                                                            std::uint32_t flags, const SocketAddress& group) {
  const auto id = ids_.find_for(number, Call::join_multicast);
  if (!id) return Unexpected{id.error()};
  return memberships_.join(**id, cookie, flags, group);
}

// ---- the world

void Manager::devices_changed(std::vector<device::DeviceInfo> devices) {
  devices_.set(std::move(devices));
  for (const auto& [number, id] : ids_.all()) {
    if (!id->binding || id->state == State::device_removal) continue;
    const device::DeviceInfo* now = devices_.find(id->binding.device);
    if (now == nullptr) {
      device_removed(*id);
    } else if (now->guid != id->binding.guid) {
      // The GUID comes from the Ethernet address: a bond has failed over, or somebody changed it. Peers may
      // hold the old one in their neighbour tables.
      id->binding.guid = now->guid;
      Event event;
      event.kind = RDMA_CM_EVENT_ADDR_CHANGE;
      events_.tell(*id, std::move(event));
    }
  }
  iwarp_.devices_changed();
}

void Manager::device_removed(Id& id) {
  resolution_.cancel(id);
  patience_.answered(id.number);
  id.state = State::device_removal;
  unattend(id);
  Event event;
  event.kind = RDMA_CM_EVENT_DEVICE_REMOVAL;
  events_.tell(id, std::move(event));
}

void Manager::event(const cm::Event& event) {
  if (event.kind == cm::EventKind::request || event.kind == cm::EventKind::service_id_request)
    return requests_.came(event);
  Id* const id = ids_.find(event.id);
  if (id == nullptr) return requests_.gave_up(event.id);
  // No event comes before the program's answer but the end: its peer has given up, or had to make room for
  // others, before the program heard of it. It never will, or finds out when it accepts.
  if (id->waits_at != 0 && events_.drop_request(*id)) return forget(id->number);
  // after a removal nothing counts but the removal
  if (id->state != State::device_removal) peer_events_.came(*id, event, host_.now());
}

void Manager::advance() {
  const TimePoint now = host_.now();
  cm_.advance(now);
  requests_.advance(now);
  patience_.advance(now);
  iwarp_.streams().advance(now);
}

TimePoint Manager::deadline() const {
  return std::min({patience_.deadline(), requests_.deadline(), cm_.deadline(), iwarp_.streams().deadline()});
}

}  // namespace softrnic::cma
