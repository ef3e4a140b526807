// What the connection manager asks of the daemon it lives in.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cma/types.h"
#include "mad/address.h"
#include "wire/gid.h"
#include "wire/lid.h"

namespace softrnic::cma {

/// A question to the host's routing and neighbour tables.
struct RouteQuery {
  wire::Gid source;  ///< zero: the route chooses
  wire::Gid destination;
  std::uint32_t interface_index = 0;  ///< netdev to leave through, 0: the route chooses
  TimePoint deadline = kNever;        ///< answer with ETIMEDOUT then
};
struct Route {
  wire::Gid source;  ///< of the query, or what the route chose
  /// Of the netdev that leads there; of one of our own addresses: that has it
  std::uint32_t interface_index = 0;
  std::uint8_t hop_limit = 64;
  /// InfiniBand: of the port whose IPoIB interface has the destination; of a group it does not count
  wire::Gid destination_gid{};
};
/// ENETUNREACH: no route; EHOSTUNREACH: nobody answers for the address; ETIMEDOUT.
using RouteAnswer = Expected<Route, Failure>;

/// A question to the subnet administrator of InfiniBand, for a PathRecord (IBTA 15.2.5.16): one, reversible.
struct PathQuery {
  wire::Gid source;
  wire::Gid destination;
  std::uint32_t port = 0;  ///< of this host, DeviceInfo::interface_index
  std::uint16_t pkey = 0;
  std::uint64_t service_id = 0;
  // what is not there is not asked for
  std::optional<std::uint16_t> qos_class;  ///< 12 bits
  std::optional<std::uint8_t> traffic_class;
  TimePoint deadline = kNever;  ///< answer with ETIMEDOUT then
};
/// What it says; nobody has looked whether it makes sense.
struct PathRecord {
  wire::Lid source_lid;
  wire::Lid destination_lid;
  std::uint16_t pkey = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t sl = 0;
  std::uint8_t mtu = 0;               ///< enum ibv_mtu
  std::uint8_t rate = 0;              ///< enum ibv_rate
  std::uint8_t packet_life_time = 0;  ///< 5-bit code
};
/// ENETUNREACH: no path, or nobody to ask; ETIMEDOUT.
using PathAnswer = Expected<PathRecord, Failure>;

/// A wish to the subnet administrator: to belong to a multicast group (MCMemberRecord, IBTA 15.2.5.17).
struct GroupQuery {
  wire::Gid group;  ///< MGID; zero: the subnet administrator makes a group
  /// The broadcast group of IPoIB (RFC 4391, section 4): a group that is made now gets the SL, flow label and
  /// traffic class of it
  wire::Gid broadcast;
  wire::Gid port_gid;
  std::uint32_t port = 0;  ///< of this host, DeviceInfo::interface_index
  std::uint16_t pkey = 0;
  std::uint32_t qkey = 0;
  bool send_only = false;  ///< as a send-only full member: packets do not come to the port
};
/// What it says; nobody has looked whether it makes sense.
struct GroupRecord {
  wire::Gid group;
  wire::Lid lid;
  std::uint32_t qkey = 0;
  std::uint16_t pkey = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t sl = 0;
  std::uint8_t mtu = 0;   ///< enum ibv_mtu
  std::uint8_t rate = 0;  ///< enum ibv_rate
};
using GroupAnswer = Expected<GroupRecord, Failure>;

class Host {
 public:
  /// Never runs backwards.
  virtual TimePoint now() = 0;
  virtual std::uint32_t random_number() = 0;
  /// A MAD from QP1. May be lost.
  virtual void send(const mad::Address& to, Bytes mad) = 0;
  /// Answered by Manager::resolved(id, …), from within or later, at most once; later questions of the same
  /// id replace earlier ones.
  virtual void resolve(IdNumber id, const RouteQuery& query) = 0;
  virtual void cancel_resolve(IdNumber id) = 0;
  /// Answered by Manager::path_found(id, …), as resolve().
  virtual void find_path(IdNumber id, const PathQuery& query) = 0;
  virtual void cancel_path(IdNumber id) = 0;
  /// Answered by Manager::group_joined(membership, …), from within or later, once. Several memberships of a
  /// port may be in the same group, which the port leaves with the last of them.
  virtual void join_group(MembershipNumber membership, const GroupQuery& query) = 0;
  /// Also while it waits for the answer, which then does not come. Must not call back.
  virtual void leave_group(MembershipNumber membership) = 0;
  /// Whether the InfiniBand port with the GID `port` has this IP address, as far as is known.
  virtual bool has_address(const wire::Gid& port, const wire::Gid& address) const = 0;
  /// next_event(channel) has one more. Must not call back.
  virtual void event_queued(ChannelNumber channel) = 0;
  /// Something was dropped or refused without a call that could fail. Must not call back.
  virtual void explain(const Reason& reason, const mad::Address& peer) = 0;

 protected:
  ~Host() = default;
};

}  // namespace softrnic::cma
