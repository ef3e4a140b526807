// Two hosts with an InfiniBand port each, LID 0x10 and 0x20, and a subnet administrator that knows them.
#pragma once

#include "tests/unit/cma/network.h"

namespace softrnic::cma {

inline constexpr auto kTimeout = std::chrono::seconds(2);

inline SocketAddress gid_address(const wire::Gid& gid, PortSpace space = PortSpace::tcp,
                                 std::uint16_t pkey = 0xffff) {
  SocketAddress out;
  out.family = Family::ib;
  out.host = gid;
  out.pkey = pkey;
  out.port = kPort;
  out.service_id = service_id_of(space, kPort);
  out.service_mask = ~std::uint64_t{0};
  return out;
}

class InfinibandPorts : public TwoNodes {
 protected:
  InfinibandPorts() {
    server.become_infiniband(0x10);
    client.become_infiniband(0x20);
  }
  const wire::Gid& gid_of(const Node& node) const { return node.device.port.gids[0].gid; }
  /// An id of the client with an address resolved.
  IdNumber resolved(const SocketAddress& to = address("10.0.0.1", kPort), PortSpace space = PortSpace::tcp) {
    const IdNumber id = client.make_id(space, 200);
    EXPECT_TRUE(client.manager.resolve_address(id, {}, to, kTimeout));
    client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
    return id;
  }
  /// The id of the server that a request of `active` brings.
  IdNumber requested(IdNumber active, const ConnectionParameters& wanted = {.qpn = 0x222}) {
    EXPECT_TRUE(client.manager.connect(active, wanted, {}));
    network.deliver();
    return server.expect(RDMA_CM_EVENT_CONNECT_REQUEST).id;
  }
  static QpAttributes attributes(Node& node, IdNumber id, ibv_qp_state state) {
    const auto got = node.manager.init_qp_attributes(id, state);
    EXPECT_TRUE(got);
    return got ? *got : QpAttributes{};
  }
  static State state(Node& node, IdNumber id) { return node.manager.view(id)->state; }
};

}  // namespace softrnic::cma
