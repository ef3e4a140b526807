#include "daemon/service.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "base/reason_id.h"
#include "control/client.h"
#include "samehost/atomic_locks.h"

namespace softrnic::daemon {

using namespace control;

const DispatchRow<Service> Service::kRows[] = {
    dispatch_row<&Service::hello>(),           dispatch_row<&Service::list_devices>(),
    dispatch_row<&Service::hold_devices>(),    dispatch_row<&Service::take_lane>(),
    dispatch_row<&Service::give_back_lane>(),  dispatch_row<&Service::register_page>(),
    dispatch_row<&Service::add_link>(),        dispatch_row<&Service::delete_link>(),
    dispatch_row<&Service::next_page>(),       dispatch_row<&Service::status>(),
    dispatch_row<&Service::shut_down>(),       dispatch_row<&Service::share_memory>(),
    dispatch_row<&Service::find_local_peer>(), dispatch_row<&Service::reclaim_lane>(),
    dispatch_row<&Service::settled>(),         dispatch_row<&Service::show_namespace>(),
};

Answer Service::handle(Connection& from, Bytes datagram, UniqueFd fd) {
  if (auto of_cm = cm_.handle(from, datagram, fd)) return std::move(*of_cm);
  if (auto of_mads = mads_.handle(from, datagram, fd)) return std::move(*of_mads);
  auto answer = dispatch<Service>(kRows, *this, from, datagram, fd);
  return answer ? std::move(*answer) : bad_message(datagram);
}

Answer Service::bad_message(Bytes datagram) {
  ++bad_messages_;
  const auto header = peek_header(datagram);
  Failure failure = refuse(EPROTO, ReasonId::daemon_bad_message, datagram.size(),
                           header ? static_cast<unsigned>(header->type) : 0U);
  if (header && header->version != kProtocolVersion)
    failure = refuse(EPROTO, ReasonId::daemon_version, kProtocolVersion, header->version);
  Answer answer = refused(header ? header->serial : 0, failure);
  answer.drop = true;
  return answer;
}

Answer Service::hello(Connection& from, const Hello& message, UniqueFd) {
  const auto comm = text_in(message.comm);
  if (!comm) return bad_message(bytes_of(message));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return refused(message, refuse(errno, ReasonId::daemon_unreachable, errno));
  from.greeted = true;
  from.notify.reset(ends[0]);
  from.comm = *comm;
  if (from.pid <= 0) from.pid = message.pid;  // of another pid namespace
  auto reply = make_message<Welcome>(message.header.serial);
  reply.pid = getpid();
  Answer answer = answer_with(reply, ends[1]);
  answer.own_fd.reset(ends[1]);
  return answer;
}

Answer Service::list_devices(Connection&, const ListDevices& message, UniqueFd) {
  // a netdev that came up while nobody had a device open may be the better choice now
  for (const DeviceChange& change : devices_.update(look_at_network(), may_rebind())) announce(change);
  auto reply = make_message<DevicesReply>(message.header.serial);
  for (const device::DeviceInfo& device : devices_.devices())
    if (reply.count < kMaxDevices) reply.devices[reply.count++] = control::to_record(device);
  return answer_with(reply);
}

Answer Service::hold_devices(Connection& from, const HoldDevices& message, UniqueFd) {
  if (!std::exchange(from.holds_devices, true)) ++holders_;
  return done(message);
}

std::size_t Service::lanes_of(uid_t user) const {
  const auto is_his = [user](const auto& holder) {
    return holder.second.connection->credentials.user() == user;
  };
  return static_cast<std::size_t>(std::count_if(holders_of_lanes_.begin(), holders_of_lanes_.end(), is_his));
}

Answer Service::take_lane(Connection& from, const TakeLane& message, UniqueFd) {
  const uid_t user = from.credentials.user();
  if (limits_)
    if (auto may = check_limit(user, lanes_of(user), limits_->lanes, UserQuota::lanes); !may)
      return refused(message, may.error());
  const auto grant = lanes_.take(from.pidfd.get(), user);
  if (!grant) return refused(message, grant.error());
  from.lanes.insert(grant->lane);
  holders_of_lanes_[grant->lane] = {&from, {}};
  auto reply = make_message<LaneReply>(message.header.serial);
  reply.lane = grant->lane;
  reply.first_index = grant->first_index;
  reply.dual_stack = grant->dual_stack ? 1 : 0;
  reply.fabric = grant->fabric ? 1 : 0;
  return answer_with(reply, grant->socket);
}

Answer Service::give_back_lane(Connection& from, const GiveBackLane& message, UniqueFd) {
  if (from.lanes.erase(message.lane) == 0)
    return refused(message, refuse(EINVAL, ReasonId::lane_not_yours, message.lane));
  if (from.lanes.empty()) from.shared = {};
  free_lane(message.lane);
  return done(message);
}

// Who has the socket has what comes for the lane anyway; a number alone proves nothing.
Answer Service::reclaim_lane(Connection& from, const ReclaimLane& message, UniqueFd fd) {
  if (!fd || !lanes_.may_reclaim(message.lane, fd.get()))
    return refused(message, refuse(EINVAL, ReasonId::lane_not_yours, message.lane));
  forget_inherited(message.lane);
  lanes_.reclaim(message.lane, from.pidfd.get(), from.credentials.user());
  from.lanes.insert(message.lane);
  from.returning = true;
  holders_of_lanes_[message.lane] = {&from, {}};
  return done(message);
}

Answer Service::settled(Connection& from, const Settled& message, UniqueFd) {
  from.returning = false;
  return done(message);
}

void Service::free_lane(std::uint32_t lane) {
  holders_of_lanes_.erase(lane);
  for (const Circle& circle : circles_) circle.locks.release(static_cast<std::uint8_t>(lane));
  std::erase_if(circles_, [this](const Circle& circle) {
    return std::none_of(holders_of_lanes_.begin(), holders_of_lanes_.end(), [&](const auto& holder) {
      return holder.second.connection->credentials.may_attach_to_each_other(circle.credentials);
    });
  });
  lanes_.free(lane);
}

// The descriptors stay where they are, so there is nothing to be examined: who takes them does that.
Answer Service::share_memory(Connection& from, const ShareMemory& message, UniqueFd) {
  if (message.count > kMaxSharedLanes) return bad_message(bytes_of(message));
  const std::span doorbells(message.doorbells, message.count);
  for (const ShareMemory::Doorbell& doorbell : doorbells)
    if (!from.lanes.contains(doorbell.lane))
      return refused(message, refuse(EINVAL, ReasonId::lane_not_yours, doorbell.lane));
  const int locks = from.lanes.empty() ? -1 : locks_for(from.credentials);
  if (locks >= 0) {
    from.shared = {message.pid, message.memory, message.inbox};
    for (const ShareMemory::Doorbell& doorbell : doorbells)
      holders_of_lanes_.at(doorbell.lane).doorbell = doorbell.doorbell;
  }
  return answer_with(make_message<LocksReply>(message.header.serial), locks);
}

// Who cannot be looked at has nobody to share locks with; nor has who holds no lane.
int Service::locks_for(const Credentials& credentials) {
  const auto circle = std::find_if(circles_.begin(), circles_.end(), [&](const Circle& each) {
    return each.credentials.may_attach_to_each_other(credentials);
  });
  if (circle != circles_.end()) return circle->memfd.get();
  if (!credentials.may_attach_to(credentials)) return -1;
  UniqueFd memfd = samehost::DirectLocks::make();
  samehost::DirectLocks locks(memfd);
  if (!locks) return -1;
  return circles_.emplace_back(Circle{credentials, std::move(memfd), std::move(locks)}).memfd.get();
}

Answer Service::find_local_peer(Connection& from, const FindLocalPeer& message, UniqueFd) {
  auto reply = make_message<LocalPeerReply>(message.header.serial);
  const auto holder = holders_of_lanes_.find(message.lane);
  if (holder == holders_of_lanes_.end()) return answer_with(reply);
  const Connection& local_peer = *holder->second.connection;
  if (!from.credentials.may_attach_to_each_other(local_peer.credentials))
    return refused(message, refuse(EACCES, ReasonId::local_peer_apart, message.lane));
  reply.pid = local_peer.shared.pid;
  reply.memory = local_peer.shared.memory;
  reply.inbox = local_peer.shared.inbox;
  reply.doorbell = holder->second.doorbell;
  return answer_with(reply);
}

// Where this daemon may look by itself, what it saw stands.
Answer Service::show_namespace(Connection& from, const ShowNamespace& message, UniqueFd fd) {
  if (!limits_ || !fd || !from.credentials.show_namespace(fd.get())) return bad_message(bytes_of(message));
  return done(message);
}

Expected<void, Failure> Service::check_commander(const Connection& from) const {
  if (limits_) return Unexpected{refuse(EPERM, ReasonId::daemon_of_all)};
  if (!from.credentials.may_attach_to(own_)) return Unexpected{refuse(EPERM, ReasonId::daemon_apart)};
  return {};
}

Answer Service::register_page(Connection& from, const RegisterPage& message, UniqueFd fd) {
  const std::uint64_t number =
      fd && from.page == 0 ? pages_.add(std::move(fd), from.pid, from.comm, from.credentials) : 0;
  if (number == 0) return refused(message, refuse(EINVAL, ReasonId::page_bad, 0));
  from.page = number;
  return done(message);
}

void Service::show_own_page(UniqueFd memfd) {
  if (memfd) pages_.add(std::move(memfd), getpid(), "softrnicd", own_);
}

Answer Service::add_link(Connection& from, const AddLink& message, UniqueFd) {
  if (auto may = check_commander(from); !may) return refused(message, may.error());
  const auto name = text_in(message.name);
  const auto netdev = text_in(message.netdev);
  if (!name || !netdev) return bad_message(bytes_of(message));
  if (!device::is_kind(message.kind))
    return refused(message, refuse(EINVAL, ReasonId::link_type_bad, message.kind));
  const auto mpa = control::mpa_demands(message.mpa);
  if (!mpa) return bad_message(bytes_of(message));
  const net::NetSnapshot snapshot = look_at_network();
  for (const DeviceChange& change : devices_.update(snapshot, may_rebind())) announce(change);
  const auto change = devices_.add(
      {std::string(*name), std::string(*netdev), static_cast<device::Kind>(message.kind), *mpa}, snapshot);
  if (!change) return refused(message, change.error());
  announce(*change);
  return done(message);
}

Answer Service::delete_link(Connection& from, const DeleteLink& message, UniqueFd) {
  if (auto may = check_commander(from); !may) return refused(message, may.error());
  const auto name = text_in(message.name);
  if (!name) return bad_message(bytes_of(message));
  const auto change = devices_.remove(std::string(*name));
  if (!change) return refused(message, change.error());
  announce(*change);
  return done(message);
}

Answer Service::next_page(Connection& from, const NextPage& message, UniqueFd) {
  auto reply = make_message<PageReply>(message.header.serial);
  const PageStore::Page* page = pages_.next(message.after, from.credentials, reply.number);
  if (page == nullptr) return answer_with(reply);
  reply.ended_ns = page->ended_ns;
  reply.pid = page->pid;
  put_text(reply.comm, page->comm);
  return answer_with(reply, page->fd.get());
}

Answer Service::status(Connection&, const StatusRequest& message, UniqueFd) {
  auto reply = make_message<StatusReply>(message.header.serial);
  reply.pid = getpid();
  reply.clients = static_cast<std::uint32_t>(clients());
  reply.lanes_used = lanes_.used();
  reply.lanes_made = lanes_.made();
  reply.dead_pages = static_cast<std::uint32_t>(pages_.dead());
  reply.bad_messages = bad_messages_;
  reply.idle_seconds = static_cast<std::uint32_t>(idle.count());
  reply.receive_buffer = lanes_.receive_buffer();
  reply.all_users = limits_ ? 1 : 0;
  reply.user = geteuid();
  return answer_with(reply);
}

Answer Service::shut_down(Connection& from, const Shutdown& message, UniqueFd) {
  if (auto may = check_commander(from); !may) return refused(message, may.error());
  end();
  return done(message);
}

void Service::receive_mad(const mad::Address& from, Bytes mad) {
  const auto header = mad::parse_header(mad);
  // the connection manager also tells of what is no datagram
  if (!header || header->management_class == mad::ManagementClass::communication)
    return cm_.receive(from, mad);
  const auto arrivals = mad_ports_.arrivals(from);
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const bool is_last = i + 1 == arrivals.size();  // who answers for all that there is nobody
    if (mads_.receive(arrivals[i].port, mad::Queue::gsi, arrivals[i].from, mad, is_last)) return;
  }
}

void Service::devices_changed() {
  cm_.devices_changed(devices_.devices());
  mad_ports_.devices_changed(devices_.devices());
  mads_.ports_changed();
}

void Service::release(Connection& gone, std::uint64_t now_ns) {
  cm_.release(gone);
  mads_.release(gone);
  for (const std::uint32_t lane : gone.lanes) {
    free_lane(lane);
  }
  gone.lanes.clear();
  if (std::exchange(gone.holds_devices, false)) --holders_;
  if (gone.page != 0) pages_.ended(gone.page, now_ns);
  gone.page = 0;
}

}  // namespace softrnic::daemon
