#include "abi/rdmacm/id.h"

#include <endian.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/events.h"
#include "abi/rdmacm/streams.h"
#include "base/reason_id.h"
#include "base/settings.h"
#include "rnic/object.h"

namespace softrnic::rdmacm {

// ---- acknowledgements

void EventAccount::hand_out() {
  const std::lock_guard lock(mutex_);
  ++handed_out_;
}

void EventAccount::acknowledge() {
  const std::lock_guard lock(mutex_);
  ++acknowledged_;
  changed_.notify_all();
}

std::uint32_t EventAccount::handed_out() {
  const std::lock_guard lock(mutex_);
  return handed_out_;
}

void EventAccount::wait(std::uint32_t events, ObjectKind object) {
  std::unique_lock lock(mutex_);
  const auto done = [&] { return acknowledged_ >= events; };
  if (changed_.wait_for(lock, rnic::kPatienceWithAcks, done)) return;
  explain({.reason = because(ReasonId::waiting_for_acks, events - acknowledged_, object)});
  changed_.wait(lock, done);
}

// ---- ids

Id::Id(std::shared_ptr<Session> owner)
    : rdma_cm_id{},
      session(std::move(owner)),
      cookie(session->next_cookie()),
      address_info(std::make_shared<AddressInfoRequest>(*this)) {
  session->ids.put(cookie, *this);
}

Id::~Id() {
  for (const Membership& membership : memberships) session->memberships.remove(membership.cookie);
  session->ids.remove(cookie);
  if (number != 0) session->numbered_ids.remove(number);
}

Expected<std::unique_ptr<Id>, Failure> Id::create(std::shared_ptr<Session> session,
                                                  rdma_event_channel* channel, void* context,
                                                  rdma_port_space ps, ibv_qp_type qp_type,
                                                  control::CmNumber number) {
  auto id = std::make_unique<Id>(std::move(session));
  if (channel == nullptr) {
    auto own = Channel::open(id->session);
    if (!own) return Unexpected{own.error()};
    id->own_channel = std::move(*own);
    channel = id->own_channel.get();
  }
  id->channel = channel;
  id->events = Channel::of(channel)->events();
  id->context = context;
  id->ps = ps;
  id->qp_type = qp_type;
  if (number == 0) {
    const auto made = id->session->heard(
        id->session->daemon.create_id(Channel::of(channel)->number(), static_cast<std::uint16_t>(ps),
                                      static_cast<std::uint8_t>(qp_type), id->cookie, settings().device));
    if (!made) return Unexpected{made.error()};
    number = made->id;
  }
  id->number = number;
  id->session->numbered_ids.put(number, *id);
  return id;
}

namespace {

/// As the kernel describes a path: exact values, and on RoCE LIDs 0.
void fill_path(ibv_sa_path_rec& path, const control::CmIdRecord& record) {
  path = {};
  std::memcpy(path.dgid.raw, record.destination_gid, sizeof path.dgid.raw);
  std::memcpy(path.sgid.raw, record.source_gid, sizeof path.sgid.raw);
  path.slid = htobe16(record.slid);
  path.dlid = htobe16(record.dlid);
  path.flow_label = htobe32(record.flow_label);
  path.hop_limit = record.hop_limit;
  path.traffic_class = record.traffic_class;
  path.reversible = 1;
  path.numb_path = 1;
  path.pkey = htobe16(record.pkey);
  path.sl = record.sl;
  constexpr std::uint8_t kExactly = 2;
  path.mtu_selector = path.rate_selector = path.packet_life_time_selector = kExactly;
  path.mtu = record.path_mtu;
  path.rate = record.rate;
  path.packet_life_time = record.packet_life_time;
  path.preference = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
}

}  // namespace

Expected<void, Failure> Id::adopt(const control::CmIdRecord& record) {
  if (record.source.ss_family != AF_UNSPEC) route.addr.src_storage = record.source;
  if (record.destination.ss_family != AF_UNSPEC) route.addr.dst_storage = record.destination;
  if (device == nullptr && record.node_guid != 0) {
    const auto found = session->devices.find(record.device_index, record.node_guid);
    if (!found) return Unexpected{found.error()};
    device = *found;
    verbs = device->verbs;
    pd = device->pd;
    port_num = record.port;
    route.addr.addr.ibaddr.pkey = htobe16(record.pkey);
  }
  rdma_ib_addr& gids = route.addr.addr.ibaddr;
  std::memcpy(gids.sgid.raw, record.source_gid, sizeof gids.sgid.raw);
  std::memcpy(gids.dgid.raw, record.destination_gid, sizeof gids.dgid.raw);
  if (record.has_path != 0) {
    fill_path(path, record);
    route.path_rec = &path;
    route.num_paths = 1;
  }
  return {};
}

Expected<void, Failure> Id::require_device() const {
  if (device == nullptr) return rnic::refused(EINVAL, ReasonId::rdma_not_bound);
  return {};
}

namespace {

/// At the daemon. A thread that fetches events has a few milliseconds for those that are there.
Expected<control::CmEventsReply, control::Error> end(Id& id) {
  constexpr std::chrono::milliseconds kTimeToFetch{10};
  EventSource& events = *id.events;
  const auto until = std::chrono::steady_clock::now() + kTimeToFetch;
  for (bool patient = events.others_fetch();;) {
    const std::uint32_t seen = events.fetches();
    auto reply = id.session->daemon.destroy_id(id.number, patient);
    if (!reply || reply->waiting == 0) return reply;
    patient = events.await_fetch(seen, until);
  }
}

}  // namespace

Expected<void, Failure> destroy(Id* id) {
  const auto fetched = end(*id);
  // The daemon does not know it any more when its channel was destroyed before it.
  const bool ended = !fetched && fetched.error().failure.error == ENOENT;
  if (!fetched && !ended && !id->session->severed(fetched.error()))
    return id->session->failed(fetched.error());
  if (id->event != nullptr) acknowledge(id->event);
  const bool forked = !fetched && !ended && fetched.error().failure.reason.id != ReasonId::daemon_gone;
  if (!forked) {
    abort_stream(*id);
    id->address_info->abandon();
  }
  if (fetched) {
    id->account.wait(fetched->fetched, ObjectKind::cm_id);
  } else if (!forked) {  // in a child nobody acknowledges what the parent was given
    id->events->settle();
    id->account.wait(id->account.handed_out(), ObjectKind::cm_id);
  }
  if (!forked) abort_stream(*id);  // who fetched ESTABLISHED meanwhile has started it only now
  delete id;
  return {};
}

Expected<void, Failure> migrate(Id& id, rdma_event_channel* channel) {
  std::unique_ptr<Channel> own;
  if (channel == nullptr) {
    if (id.synchronous()) return rnic::refused(EINVAL, ReasonId::rdma_synchronous);
    auto made = Channel::open(id.session);
    if (!made) return Unexpected{made.error()};
    own = std::move(*made);
    channel = own.get();
  }
  const auto fetched =
      id.session->heard(id.session->daemon.migrate_id(id.number, Channel::of(channel)->number()));
  if (!fetched) return Unexpected{fetched.error()};
  if (id.synchronous()) drop_event(id);
  id.own_channel = std::move(own);
  id.channel = channel;
  id.events = Channel::of(channel)->events();
  id.account.wait(*fetched, ObjectKind::cm_id);
  return {};
}

}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                                   rdma_port_space ps) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    using Found = Expected<std::shared_ptr<Session>, Failure>;
    auto session = channel == nullptr ? current_session() : Found(Channel::of(channel)->shared_session());
    if (!session) return Unexpected{session.error()};
    const bool datagrams = ps == RDMA_PS_IPOIB || ps == RDMA_PS_UDP;
    auto made = Id::create(std::move(*session), channel, context, ps, datagrams ? IBV_QPT_UD : IBV_QPT_RC);
    if (!made) return Unexpected{made.error()};
    *id = made->release();
    return {};
  });
}

SOFTRNIC_EXPORT int rdma_destroy_id(rdma_cm_id* id) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return destroy(Id::of(id));
  });
}

SOFTRNIC_EXPORT int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    return migrate(*Id::of(id), channel);
  });
}
