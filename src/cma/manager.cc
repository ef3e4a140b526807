#include "cma/manager.h"

#include <algorithm>
#include <cerrno>

namespace softrnic::cma {
namespace {

/// How long a program may take to accept, once its peer was asked for patience: 68 s.
constexpr std::uint8_t kServiceTimeout = 24;

/// Port spaces decide on the service, except IB, which leaves it to the program. As the kernel's ucma.
std::optional<ibv_qp_type> qp_type_of(PortSpace space, std::uint8_t wanted) {
  if (space == PortSpace::tcp) return IBV_QPT_RC;
  if (space == PortSpace::udp) return IBV_QPT_UD;
  if (wanted == IBV_QPT_RC || wanted == IBV_QPT_UC || wanted == IBV_QPT_UD)
    return static_cast<ibv_qp_type>(wanted);
  return std::nullopt;
}

}  // namespace

Manager::Manager(cma::Host& host, std::uint64_t guid) : host_(host), cm_(*this, guid), listeners_(cm_) {}

Id& Manager::make_id(ChannelNumber channel, PortSpace space, ibv_qp_type type) {
  Id& id = ids_.add(space, type, host_.random_number() & 0xffffff);
  id.channel = channel;
  channels_.id_came(channel);
  return id;
}

Expected<IdNumber, Failure> Manager::create(const Creation& creation) {
  if (!channels_.has(creation.channel))
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

void Manager::forget(IdNumber number) {
  if (const std::unique_ptr<Id> id = ids_.take(number)) release(*id);
}

void Manager::release(Id& id) {
  if (id.state == State::address_query) host_.cancel_resolve(id.number);
  unattend(id);
  if (id.connection.value != 0) cm_.destroy(id.connection, host_.now());
  drop_events(id);
  release_port(id);
  set_timer(id, kNever);
  for (const auto& [membership, details] : id.memberships) memberships_.erase(membership);
  channels_.id_left(id.channel);
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

void Manager::set_timer(Id& id, TimePoint at) {
  if (id.timer != kNever) timers_.erase({id.timer, id.number});
  id.timer = at;
  if (at != kNever) timers_.emplace(at, id.number);
}

void Manager::timer_fired(Id& id) {
  if (!id.waits_for_program) return;
  // The peer repeats its REQ or REP for as long as it thinks this side is silent; it is asked
  // to wait for the program.
  const TimePoint now = host_.now();
  if (cm_.delay(id.connection, kServiceTimeout, {}, now))
    set_timer(id, now + cm::duration_of(kServiceTimeout) / 2);
}

void Manager::wait_for_program(Id& id, std::uint8_t granted) {
  id.waits_for_program = true;
  set_timer(id, host_.now() + cm::duration_of(granted) / 2);
}

void Manager::program_answered(Id& id) {
  id.waits_for_program = false;
  set_timer(id, kNever);
}

void Manager::advance() {
  const TimePoint now = host_.now();
  cm_.advance(now);
  refuse_early([now](const EarlyRequests::Request& early) { return early.until <= now; });
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Id* id = ids_.find(timers_.begin()->second);
    if (id == nullptr) {
      timers_.erase(timers_.begin());
      continue;
    }
    set_timer(*id, kNever);
    timer_fired(*id);
  }
}

TimePoint Manager::deadline() const {
  const TimePoint own = timers_.empty() ? kNever : timers_.begin()->first;
  return std::min({own, early_.deadline(), cm_.deadline()});
}

}  // namespace softrnic::cma
