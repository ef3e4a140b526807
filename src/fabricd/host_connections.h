// What the connection manager of an emulated host asks: who has an IP address, what path leads to a port, and
// to belong to a multicast group. Addresses are those of the emulated IPoIB interfaces, which the fabric
// knows; paths and groups are asked of the subnet administrator.
#pragma once

#include <functional>
#include <map>

#include "daemon/cm_service.h"
#include "fabricd/sa_client.h"
#include "wire/gid.h"

namespace softrnic::fabricd {

/// Who has an address.
struct AddressOwner {
  wire::Gid gid;  ///< of the port; zero: nobody
};

class HostConnections {
 public:
  /// `cm` and `sa` outlive it. `own_port` is the number of this host's port with a GID or an IP address, 0:
  /// none has it; `owner_of`: of an IP address anywhere in the fabric.
  HostConnections(daemon::CmService& cm, SaClient& sa,
                  std::function<std::uint8_t(const wire::Gid& address)> own_port,
                  std::function<wire::Gid(std::uint8_t port)> own_address,
                  std::function<AddressOwner(const wire::Gid& address)> owner_of);

 private:
  void find_route(cma::IdNumber id, const cma::RouteQuery& query);
  void ask_for_path(cma::IdNumber id, const cma::PathQuery& query);
  void ask_for_group(cma::MembershipNumber membership, const cma::GroupQuery& query);
  void leave_group(cma::MembershipNumber membership);

  daemon::CmService& cm_;
  SaClient& sa_;
  std::function<std::uint8_t(const wire::Gid&)> own_port_;
  std::function<wire::Gid(std::uint8_t)> own_address_;
  std::function<AddressOwner(const wire::Gid&)> owner_of_;
  std::map<cma::IdNumber, SaClient::Token> paths_;
  struct Membership {
    SaClient::Token token = 0;
    cma::GroupQuery query;
    wire::Gid group{};  ///< that was joined; zero: not yet
  };
  std::map<cma::MembershipNumber, Membership> groups_;
};

}  // namespace softrnic::fabricd
