// Multicast groups that programs of a host belong to, and so its ports. To the subnet administrator a port is
// a member or not, for each JoinState (IBTA 15.2.5.17): it joins with each program anew, which changes
// nothing, and leaves with the last.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "cma/host.h"
#include "fabricd/sa_client.h"
#include "wire/gid.h"

namespace softrnic::fabricd {

class GroupMemberships {
 public:
  using Joined = std::function<void(cma::MembershipNumber membership, const cma::GroupAnswer& answer)>;

  /// `sa` outlives it.
  GroupMemberships(SaClient& sa, Joined joined) : sa_(sa), joined_(std::move(joined)) {}

  /// Answered once, from within or later, unless it is left before.
  void join(cma::MembershipNumber number, const cma::GroupQuery& query);
  void leave(cma::MembershipNumber number);

 private:
  struct Member {
    cma::GroupQuery query;    ///< with the group that was joined, once that is known
    std::uint64_t asked = 0;  ///< tells its question from an earlier one of that number
  };
  /// A member, as the subnet administrator knows it.
  struct PortMember {
    wire::Gid group, port_gid;
    bool send_only = false;
    auto operator<=>(const PortMember&) const = default;
  };

  static PortMember port_member(const cma::GroupQuery& query);
  void answered(cma::MembershipNumber number, const Member& asked, const SaAnswer& answer);
  void leave_unless_needed(const cma::GroupQuery& query);
  void stop_leaving(const PortMember& member);

  SaClient& sa_;
  Joined joined_;
  std::map<cma::MembershipNumber, Member> members_;  ///< joined, or about to
  std::map<PortMember, SaClient::Token> leaving_;
  std::uint64_t asked_ = 0;
};

}  // namespace softrnic::fabricd
