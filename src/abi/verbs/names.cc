// The texts of enumerators. Programs print and compare them, so they are those of libibverbs to the letter.
#include <infiniband/verbs.h>

#include <array>
#include <cstddef>

#include "abi/enumeration.h"
#include "abi/provider_nodes.h"

namespace {

constexpr std::array kNodeTypes = {
    "InfiniBand channel adapter",
    "InfiniBand switch",
    "InfiniBand router",
    "iWARP NIC",
    "usNIC",
    "usNIC UDP",
    "unspecified",
};
static_assert(kNodeTypes.size() == IBV_NODE_UNSPECIFIED - IBV_NODE_CA + 1);

constexpr std::array kPortStates = {"no state change (NOP)", "down", "init", "armed", "active",
                                    "active defer"};
static_assert(kPortStates.size() == IBV_PORT_ACTIVE_DEFER + 1);

constexpr std::array kEvents = {
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
};
static_assert(kEvents.size() == IBV_EVENT_WQ_FATAL + 1);

constexpr std::array kStatuses = {
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};
static_assert(kStatuses.size() == IBV_WC_TM_RNDV_INCOMPLETE + 1);

/// The text of `value`, whose first is `first`. Values come from C, so any int may come.
// From 0. Nothing has the numbers 12 and 13; headers of Debian 12 do not name 14.
constexpr std::array kOpcodes = {
    "rdma-write",
    "rdma-write-with-imm",
    "send",
    "send-with-imm",
    "rdma-read",
    "atomic-cmp-and-swp",
    "atomic-fetch-and-add",
    "local-inv",
    "bind-mw",
    "send-with-inv",
    "tso",
    "driver1",
    "unknown",
    "unknown",
    "flush",
    "atomic-write",
};

template <std::size_t Size>
const char* text_of(const std::array<const char*, Size>& texts, long value, long first = 0) {
  const long at = value - first;
  return at < 0 || at >= static_cast<long>(Size) ? "unknown" : texts[static_cast<std::size_t>(at)];
}

using softrnic::abi::number_of;

}  // namespace

SOFTRNIC_EXPORT const char* ibv_node_type_str(ibv_node_type type) {
  return text_of(kNodeTypes, number_of(type), IBV_NODE_CA);
}
SOFTRNIC_EXPORT const char* ibv_port_state_str(ibv_port_state state) {
  return text_of(kPortStates, number_of(state));
}
SOFTRNIC_EXPORT const char* ibv_event_type_str(ibv_event_type event) {
  return text_of(kEvents, number_of(event));
}
SOFTRNIC_EXPORT const char* ibv_wc_status_str(ibv_wc_status status) {
  return text_of(kStatuses, number_of(status));
}
SOFTRNIC_PROVIDER_CALL(const char*, ibv_wr_opcode_str, (ibv_wr_opcode opcode)) {
  return text_of(kOpcodes, number_of(opcode));
}
