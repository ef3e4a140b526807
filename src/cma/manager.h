// The RDMA communication manager: connections by IP address (IBTA annex A11), on top of cm. Pure: calls,
// MADs, answers to route queries and the time come in; MADs, queries and events go out.
//
// This class is what the parts have in common: it finds the id that a call names, asks states.h whether the
// call is possible now, hands both to the part that does it, and ends ids. The parts:
//
//   IdTable           which ids there are
//   DeviceTable       which devices, and which of them an address means
//   IdEvents          what was told and not fetched yet
//   Memberships       multicast groups
//   BoundPorts        who has which port, and which listener a request is for
//   Resolution        from an address to a path
//
// and of InfiniBand's CM, on RoCE and InfiniBand:
//
//   IncomingRequests  requests of peers until the program hears of them
//   IbConnections     what programs tell their peers
//   PeerEvents        what peers tell programs
//   Patience          peers that wait for a program
//
// and of streams of TCP, on iWARP:
//
//   IwarpListeners    at which addresses a listener hears requests
//   IwarpConnections  both sides of a connection
//
// Calls come from one thread. They follow rdma_cm(7) and what Linux does where that is silent; a refused
// one returns the errno of its man page and a reason, and nothing has changed then. Which call is
// possible when: states.h.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/expected.h"
#include "cm/manager.h"
#include "cma/bound_ports.h"
#include "cma/device_table.h"
#include "cma/host.h"
#include "cma/ib_connections.h"
#include "cma/id_events.h"
#include "cma/id_table.h"
#include "cma/incoming_requests.h"
#include "cma/iwarp_connections.h"
#include "cma/memberships.h"
#include "cma/patience.h"
#include "cma/peer_events.h"
#include "cma/resolution.h"
#include "cma/types.h"

namespace softrnic::cma {

class Manager final : private cm::Host {
 public:
  /// Both outlive the manager. `guid` names this host in CM messages.
  Manager(cma::Host& host, iwcm::Streams& streams, std::uint64_t guid, const iwcm::Limits& limits = {});
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // ---- channels
  ChannelNumber open_channel() { return events_.open_channel(); }
  /// Ends the ids that are left on it, as Linux does when the file of a channel is closed; that is explained.
  Expected<void, Failure> close_channel(ChannelNumber channel);
  /// The owner of these channels has gone: destroys their ids, and closes them.
  void abandon(const std::set<ChannelNumber>& channels);
  /// The next event, which counts as fetched from then on. Nothing when there is none.
  std::optional<Event> next_event(ChannelNumber channel);
  /// Queues an event of the library's own (rdma_write_cm_event), of a kind that the manager does not tell.
  Expected<void, Failure> write_event(IdNumber id, std::uint32_t kind, int status, std::uint64_t argument);

  // ---- ids
  struct Creation {
    std::uint64_t cookie = 0;
    ChannelNumber channel = 0;
    std::uint16_t port_space = 0;  ///< enum rdma_port_space
    std::uint8_t qp_type = 0;      ///< enum ibv_qp_type
    std::string device{};          ///< the only one that the program sees; empty: it sees all
    std::uint32_t user = 0;        ///< see iwcm::Limits::of_user
  };
  Expected<IdNumber, Failure> create(const Creation& creation);
  /// Tells the peer what it has to know, drops events that nobody fetched, leaves groups. The
  /// number of events fetched.
  Expected<std::uint32_t, Failure> destroy(IdNumber id);
  /// No events of the id are queued from now on, as it is about to be destroyed. How many wait to be fetched.
  Expected<std::uint32_t, Failure> quiesce(IdNumber id);
  /// Events that nobody fetched move along. The number of those fetched.
  Expected<std::uint32_t, Failure> migrate(IdNumber id, ChannelNumber channel);
  std::optional<IdView> view(IdNumber id) const;
  /// 0: no such id.
  ChannelNumber channel_of(IdNumber id) const;
  /// How many events have left the channel that nobody fetched; wraps.
  std::uint32_t withdrawn(ChannelNumber channel) const { return events_.channels().withdrawn(channel); }
  /// The id with the lowest number above `after`; 0: none.
  IdNumber next_id(IdNumber after) const { return ids_.next(after); }
  std::size_t ids() const { return ids_.size(); }
  /// That report to this channel.
  std::size_t ids_of(ChannelNumber channel) const { return events_.channels().ids(channel); }

  // ---- addresses
  Expected<void, Failure> bind(IdNumber id, const SocketAddress& address);
  Expected<void, Failure> resolve_address(IdNumber id, const SocketAddress& source,
                                          const SocketAddress& destination, Duration timeout);
  /// The answer to Host::resolve().
  void resolved(IdNumber id, const RouteAnswer& answer);
  Expected<void, Failure> resolve_route(IdNumber id, Duration timeout);
  /// The answer to Host::find_path().
  void path_found(IdNumber id, const PathAnswer& answer);

  // ---- connections
  Expected<void, Failure> listen(IdNumber id, int backlog);
  Expected<void, Failure> connect(IdNumber id, const ConnectionParameters& parameters, const cm::Ece& ece);
  /// Passive: accepts; from then on events carry `cookie`. Active, after CONNECT_RESPONSE:
  /// `parameters` are not looked at.
  Expected<void, Failure> accept(IdNumber id, std::uint64_t cookie,
                                 const std::optional<ConnectionParameters>& parameters, const cm::Ece& ece);
  Expected<void, Failure> reject(IdNumber id, cm::RejectReason reason, Bytes private_data);
  Expected<void, Failure> disconnect(IdNumber id);
  /// What goes with the stream of an accepted request, and with an event that has_stream. Nothing: the id has
  /// none, or it is over.
  std::optional<Handover> handover(IdNumber id) const;
  /// Its program has given the stream of an accepted request to the queue pair: tells ESTABLISHED.
  Expected<void, Failure> has_stream(IdNumber id);
  /// The id whose stream has this token; 0: none.
  IdNumber id_with_token(std::uint64_t token) const { return iwarp_.id_with_token(token); }
  Expected<void, Failure> notify(IdNumber id, std::uint32_t ibv_event);

  // ---- what belongs to ids
  Expected<void, Failure> set_option(IdNumber id, std::uint32_t level, std::uint32_t option, Bytes value);
  Expected<QpAttributes, Failure> init_qp_attributes(IdNumber id, std::uint32_t state) const;
  Expected<MembershipNumber, Failure> join_multicast(IdNumber id, std::uint64_t cookie, std::uint32_t flags,
                                                     const SocketAddress& group);
  /// The answer to Host::join_group().
  void group_joined(MembershipNumber membership, const GroupAnswer& answer) {
    memberships_.joined(membership, answer);
  }
  /// The number of events of the membership that were fetched.
  Expected<std::uint32_t, Failure> leave_multicast(MembershipNumber membership) {
    return memberships_.leave(membership);
  }
  /// The id that joined; 0: no such membership.
  IdNumber id_of(MembershipNumber membership) const { return memberships_.id_of(membership); }

  // ---- the world
  /// The devices as they are now. Ids of a device that has gone get DEVICE_REMOVAL, those of one whose
  /// Ethernet address changed ADDR_CHANGE.
  void devices_changed(std::vector<device::DeviceInfo> devices);
  /// A MAD of class `communication` for QP1.
  void receive(const mad::Address& from, Bytes mad) { cm_.receive(from, mad, host_.now()); }
  /// The streams of iWARP: see iwcm::Manager, whose host tells of them here.
  iwcm::Manager& streams() { return iwarp_.streams(); }
  const iwcm::Manager& streams() const { return iwarp_.streams(); }
  /// Does what is due.
  void advance();
  /// When advance() has something to do next; kNever when nothing.
  TimePoint deadline() const;

 private:
  // cm::Host
  void send(const mad::Address& to, Bytes mad) override { host_.send(to, mad); }
  void event(const cm::Event& event) override;
  std::uint32_t random_number() override { return host_.random_number(); }
  void explain(const Reason& reason, const mad::Address& peer) override { host_.explain(reason, peer); }

  Connections& connections_of(const Id& id);
  Expected<void, Failure> begin_to_listen(Id& id);
  /// Ends an id in all parts; it may be gone already.
  void forget(IdNumber id);
  void release(Id& id);
  /// It takes no requests any more.
  void unattend(Id& id);
  void device_removed(Id& id);

  cma::Host& host_;
  cm::Manager cm_;
  DeviceTable devices_;
  IdTable ids_;
  IdEvents events_;
  Memberships memberships_;
  BoundPorts ports_;
  Patience patience_;
  Resolution resolution_;
  IncomingRequests requests_;
  IbConnections ib_;
  PeerEvents peer_events_;
  IwarpConnections iwarp_;
};

}  // namespace softrnic::cma
