// Verbs that refuse: EINVAL, ENOMEM, EBUSY, EOPNOTSUPP.
#include <cerrno>

#include "scene.h"

namespace reasons {
namespace {

void missing_attributes() {
  Side a(IBV_QPT_RC);
  must(a.to_init() == 0, "INIT");
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  must(ibv_modify_qp(a.qp, &attributes,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                         IBV_QP_MIN_RNR_TIMER) == EINVAL,
       "RTR without a peer");
  expect(a.qpn(),
         "the mask for INIT to RTR lacks IBV_QP_DEST_QPN (it is IBV_QP_STATE|IBV_QP_AV|IBV_QP_PATH_MTU|"
         "IBV_QP_RQ_PSN|IBV_QP_MIN_RNR_TIMER|IBV_QP_MAX_DEST_RD_ATOMIC)");
}

void surplus_attributes() {
  Side a(IBV_QPT_RC);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  must(ibv_modify_qp(a.qp, &attributes, mask | IBV_QP_TIMEOUT) == EINVAL, "INIT with a timeout");
  expect(a.qpn(), "the mask for RESET to INIT has IBV_QP_TIMEOUT, not allowed there");
}

void bad_transition() {
  Side a(IBV_QPT_RC);
  must(a.to_rts() == EINVAL, "RESET to RTS");
  expect(a.qpn(), "a QP cannot go from state RESET to state RTS");
}

void bad_values() {
  Side a(IBV_QPT_RC);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 3;
  must(ibv_modify_qp(a.qp, &attributes,
                     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == EINVAL,
       "port 3");
  expect(a.qpn(), "port 3 does not exist; the device has port 1");
  must(a.to_init() == 0, "INIT");
  Setup setup;
  setup.max_dest_rd_atomic = 255;
  must(a.to_rtr(1, setup) == EINVAL, "RTR");
  expect(a.qpn(), "the value 255 of the attribute of IBV_QP_MAX_DEST_RD_ATOMIC is out of range (at most ");
  setup = {};
  setup.dest_qpn = 0x1000002;
  must(a.to_rtr(1, setup) == EINVAL, "RTR");
  expect(a.qpn(), "dest_qp_num 0x1000002 has more than 24 bits");
}

void bad_addresses() {
  Side a(IBV_QPT_UD);
  ibv_ah_attr to = a.address();
  to.grh.sgid_index = 200;
  must(ibv_create_ah(a.pd, &to) == nullptr && errno == EINVAL, "GID index");
  expect(0, "GID index 200 does not exist; the table has ");
  to = a.address();
  to.is_global = 0;
  must(ibv_create_ah(a.pd, &to) == nullptr && errno == EINVAL, "no GRH");
  expect(0, "an address without GRH on an Ethernet port");
  to = a.address();
  to.grh.dgid = {};
  must(ibv_create_ah(a.pd, &to) == nullptr && errno == EINVAL, "no GID");
  expect(0, "the destination GID is zero");
}

void bad_memory() {
  Side a(IBV_QPT_RC);
  constexpr int kAccess = IBV_ACCESS_REMOTE_WRITE;
  must(ibv_reg_mr(a.pd, a.memory.data(), 64, kAccess) == nullptr && errno == EINVAL, "access");
  expect(0, "the access flags IBV_ACCESS_REMOTE_WRITE are not valid");
  void* nowhere = reinterpret_cast<void*>(std::uintptr_t{4096});
  must(ibv_reg_mr(a.pd, nowhere, 64, 0) == nullptr && errno == EFAULT, "not mapped");
  expect(0, "the 64 bytes at 0x1000 are not all mapped with the needed protection");
  ibv_sge range = {reinterpret_cast<std::uintptr_t>(a.memory.data()), 64, a.mr->lkey};
  must(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &range, 1) == EFAULT, "prefetch");
  expect(0, "was not registered with IBV_ACCESS_ON_DEMAND");
}

void bad_sizes() {
  Side a(IBV_QPT_RC);
  must(ibv_create_cq(a.context, 0, nullptr, nullptr, 0) == nullptr && errno == EINVAL, "CQ of nothing");
  expect(0, "a CQ of 0 entries is not possible (1 to ");
  must(ibv_create_cq(a.context, 8, nullptr, nullptr, 99) == nullptr && errno == EINVAL, "vector");
  expect(0, "comp_vector 99 does not exist; the device has ");
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = a.cq;
  init.qp_type = IBV_QPT_RC;
  init.cap.max_recv_sge = 1000;
  must(ibv_create_qp(a.pd, &init) == nullptr && errno == EINVAL, "SGEs");
  expect(0, "max_recv_sge = 1000 exceeds the device's limit ");
  init.cap.max_recv_sge = 1;
  init.qp_type = IBV_QPT_DRIVER;
  must(ibv_create_qp(a.pd, &init) == nullptr && errno == EOPNOTSUPP, "driver");
  expect(0, "QP type DRIVER is not supported");
  init.qp_type = IBV_QPT_RC;
  init.send_cq = nullptr;
  must(ibv_create_qp(a.pd, &init) == nullptr && errno == EINVAL, "no CQ");
  expect(0, "a QP needs a send CQ and a receive CQ");
}

void shared_receives() {
  Side a(IBV_QPT_RC);
  ibv_srq_init_attr init{};
  init.attr.max_wr = 10'000'000;
  must(ibv_create_srq(a.pd, &init) == nullptr && errno == EINVAL, "SRQ");
  expect(0, "max_wr = 10000000 exceeds the device's limit ");
  init.attr.max_wr = init.attr.max_sge = 1;
  ibv_srq* srq = ibv_create_srq(a.pd, &init);
  ibv_srq_attr change{};
  change.srq_limit = 5;
  must(srq != nullptr && ibv_modify_srq(srq, &change, IBV_SRQ_LIMIT) == EINVAL, "limit");
  expect(0, "srq_limit 5 exceeds the SRQ's max_wr 1");
  ibv_destroy_srq(srq);
}

void still_in_use() {
  Side a(IBV_QPT_RC, true);
  must(ibv_destroy_cq(a.cq) == EBUSY, "CQ");
  expect(0, "the CQ is still in use by ");
  must(ibv_dealloc_pd(a.pd) == EBUSY, "PD");
  expect(0, "the PD is still in use by ");
  must(ibv_destroy_comp_channel(a.channel) == EBUSY, "channel");
  expect(0, "the completion channel is still in use by 1 other objects");
}

void multicast() {
  Side a(IBV_QPT_UD);
  ibv_gid group = a.gid;
  must(ibv_attach_mcast(a.qp, &group, 0) == EINVAL, "unicast");
  expect(a.qpn(), " is no multicast GID, or the QP (type UD) cannot receive multicast");
  group = {};
  group.raw[0] = 0xff;
  group.raw[1] = 2;
  group.raw[15] = 0x77;
  must(ibv_detach_mcast(a.qp, &group, 0) == EINVAL, "not attached");
  expect(a.qpn(), "the QP is not attached to this group");
}

void not_there_yet() {
  Side a(IBV_QPT_RC);
  ibv_flow_action_esp_attr action{};
  must(ibv_create_flow_action_esp(a.context, &action) == nullptr && errno == EOPNOTSUPP, "flow action");
  expect(0, "ibv_create_flow_action_esp is not there yet");
  ibv_td_init_attr domain{};
  domain.comp_mask = 1;
  must(ibv_alloc_td(a.context, &domain) == nullptr && errno == EOPNOTSUPP, "thread domain");
  expect(0, "comp_mask 0x1 of a parent domain or thread domain has unknown bits");
  ibv_xrcd_init_attr xrc{};
  must(ibv_open_xrcd(a.context, &xrc) == nullptr && errno == EINVAL, "XRC");
  expect(0, "ibv_open_xrcd was given comp_mask 0x0 and oflags 0x0");
  ibv_cq_init_attr_ex extended{};
  extended.cqe = 1;
  extended.comp_mask = 0x100;
  must(ibv_create_cq_ex(a.context, &extended) == nullptr && errno == EOPNOTSUPP, "extended CQ");
  expect(0, "ibv_create_cq_ex was given bits that are not there: wc_flags 0x0, comp_mask 0x100, flags 0x0");
}

void queries() {
  Side a(IBV_QPT_RC);
  ibv_port_attr port{};
  must(ibv_query_port(a.context, 2, &port) == EINVAL, "port");
  expect(0, "port 2 does not exist; the device has port 1");
  std::uint16_t key = 0;
  must(ibv_query_pkey(a.context, 1, 77, &key) == -1, "P_Key");
  expect(0, "P_Key index 77 does not exist; the table has 1 entries");
}

}  // namespace

extern const Case kVerbCases[] = {
    {"missing_attributes", missing_attributes},
    {"surplus_attributes", surplus_attributes},
    {"bad_transition", bad_transition},
    {"bad_values", bad_values},
    {"bad_addresses", bad_addresses},
    {"bad_memory", bad_memory},
    {"bad_sizes", bad_sizes},
    {"shared_receives", shared_receives},
    {"still_in_use", still_in_use},
    {"multicast", multicast},
    {"not_there_yet", not_there_yet},
    {"queries", queries},
    {nullptr, nullptr},
};

}  // namespace reasons
