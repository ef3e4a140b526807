// What the connection manager of an emulated host asks: who has an IP address, what path leads to a port, and
// to belong to a multicast group. Addresses are those of the emulated IPoIB interfaces, which the fabric
// knows; paths and groups are asked of the subnet administrator.
#pragma once

#include <functional>

#include "daemon/cm_service.h"
#include "fabricd/group_memberships.h"
#include "fabricd/path_queries.h"
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

  daemon::CmService& cm_;
  PathQueries paths_;
  GroupMemberships groups_;
  std::function<std::uint8_t(const wire::Gid&)> own_port_;
  std::function<wire::Gid(std::uint8_t)> own_address_;
  std::function<AddressOwner(const wire::Gid&)> owner_of_;
};

}  // namespace softrnic::fabricd
