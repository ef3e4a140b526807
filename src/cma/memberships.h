// Multicast groups that ids have joined. RoCE has no subnet administrator: the address of a group is its GID,
// and whoever attaches a queue pair belongs to it. On InfiniBand the host asks the subnet administrator, and
// the answer has the LID of the group.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/expected.h"
#include "base/reason.h"
#include "cma/host.h"
#include "cma/id_events.h"
#include "cma/id_table.h"

namespace softrnic::cma {

class Memberships {
 public:
  /// All outlive this object.
  Memberships(Host& host, const IdTable& ids, IdEvents& events) : host_(host), ids_(ids), events_(events) {}

  /// Tells MULTICAST_JOIN with `cookie`, or later MULTICAST_ERROR. EINVAL: the id has no device, `group` is
  /// none, an unknown flag, or the id has another Q_Key.
  Expected<MembershipNumber, Failure> join(Id& id, std::uint64_t cookie, std::uint32_t flags,
                                           const SocketAddress& group);
  /// The host's answer; one that nobody waits for is ignored.
  void joined(MembershipNumber membership, const GroupAnswer& answer);
  /// Ends one, and drops the events of it that nobody fetched. The number of those fetched; EADDRNOTAVAIL: no
  /// such membership.
  Expected<std::uint32_t, Failure> leave(MembershipNumber membership);
  /// Ends those of an id that ends.
  void leave_all(IdNumber id);
  /// The id that joined; 0: no such membership.
  IdNumber id_of(MembershipNumber membership) const;
  /// An event of it was fetched. 0, of events that are of none, does nothing.
  void count_fetched(MembershipNumber membership);

 private:
  /// What the host has to know of a membership.
  enum class Asked : std::uint8_t {
    nothing,  ///< and when it has failed
    waits,
    joined,
  };
  struct Membership {
    IdNumber id = 0;
    std::uint32_t fetched = 0;
    std::uint64_t cookie = 0;
    Asked asked = Asked::nothing;
    GroupQuery query{};
  };

  void ask(MembershipNumber number, Membership& membership, const GroupQuery& query);
  void tell_joined(Id& id, MembershipNumber number, const Membership& membership,
                   const AddressVector& address);
  void tell_failed(Id& id, MembershipNumber number, Membership& membership, const Failure& failure);
  /// The port leaves the group, or asks no more.
  void withdraw(MembershipNumber number, const Membership& membership);

  Host& host_;
  const IdTable& ids_;
  IdEvents& events_;
  std::map<MembershipNumber, Membership> memberships_;
  std::set<std::pair<IdNumber, MembershipNumber>> by_id_;
  MembershipNumber next_ = 1;
};

}  // namespace softrnic::cma
