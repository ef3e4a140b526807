#include "rnic/qp_states.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/reason_id.h"

namespace softrnic::rnic {
namespace {

constexpr std::array kTypeOrder = {IBV_QPT_RC,       IBV_QPT_UC,       IBV_QPT_UD,
                                   IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, IBV_QPT_RAW_PACKET};
constexpr std::size_t kTypes = kTypeOrder.size();

constexpr std::uint32_t kPkey = IBV_QP_PKEY_INDEX;
constexpr std::uint32_t kPort = IBV_QP_PORT;
constexpr std::uint32_t kQkey = IBV_QP_QKEY;
constexpr std::uint32_t kAccess = IBV_QP_ACCESS_FLAGS;
constexpr std::uint32_t kAlt = IBV_QP_ALT_PATH;
constexpr std::uint32_t kMig = IBV_QP_PATH_MIG_STATE;
constexpr std::uint32_t kCur = IBV_QP_CUR_STATE;
constexpr std::uint32_t kRnrTimer = IBV_QP_MIN_RNR_TIMER;
constexpr std::uint32_t kSqPsn = IBV_QP_SQ_PSN;
constexpr std::uint32_t kRate = IBV_QP_RATE_LIMIT;
constexpr std::uint32_t kNotify = IBV_QP_EN_SQD_ASYNC_NOTIFY;
constexpr std::uint32_t kUcRtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr std::uint32_t kRcRtr = kUcRtr | IBV_QP_MAX_DEST_RD_ATOMIC | kRnrTimer;
constexpr std::uint32_t kRcRetry =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

struct Masks {
  std::uint32_t required;
  std::uint32_t optional;
};

/// One way from a state to another; masks in the order of kTypeOrder.
struct Row {
  ibv_qp_state from;
  ibv_qp_state to;
  std::array<Masks, kTypes> masks;
};

// Every state may also go to RESET and to ERR, with no attributes. SQE is of UC and UD only (IBTA 10.3.1.6),
// and of raw packets, which go as UD does: an RC or XRC QP never gets there. The halves of XRC have of RC's
// attributes what their half uses. The rate of all that send may be limited where the kernel lets that of raw
// packet QPs be, which have no other attributes but the port (qp_state_table of ib_core).
constexpr Row kRows[] = {
    {IBV_QPS_RESET,
     IBV_QPS_INIT,
     {{{kPkey | kPort | kAccess, 0},
       {kPkey | kPort | kAccess, 0},
       {kPkey | kPort | kQkey, 0},
       {kPkey | kPort | kAccess, 0},
       {kPkey | kPort | kAccess, 0},
       {kPort, 0}}}},
    {IBV_QPS_INIT,
     IBV_QPS_INIT,
     {{{0, kPkey | kPort | kAccess},
       {0, kPkey | kPort | kAccess},
       {0, kPkey | kPort | kQkey},
       {0, kPkey | kPort | kAccess},
       {0, kPkey | kPort | kAccess},
       {0, 0}}}},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {{{kRcRtr, kAlt | kAccess | kPkey},
       {kUcRtr, kAlt | kAccess | kPkey},
       {0, kPkey | kQkey},
       {kUcRtr, kAlt | kAccess | kPkey},
       {kRcRtr, kAlt | kAccess | kPkey},
       {0, 0}}}},
    {IBV_QPS_RTR,
     IBV_QPS_RTS,
     {{{kRcRetry | kSqPsn, kCur | kAlt | kAccess | kRnrTimer | kMig | kRate},
       {kSqPsn, kCur | kAlt | kAccess | kMig | kRate},
       {kSqPsn, kCur | kQkey | kRate},
       {kRcRetry | kSqPsn, kCur | kAlt | kAccess | kMig | kRate},
       {IBV_QP_TIMEOUT | kSqPsn, kCur | kAlt | kAccess | kRnrTimer | kMig},
       {0, kRate}}}},
    {IBV_QPS_RTS,
     IBV_QPS_RTS,
     {{{0, kCur | kAccess | kAlt | kMig | kRnrTimer | kRate},
       {0, kCur | kAccess | kAlt | kMig | kRate},
       {0, kCur | kQkey | kRate},
       {0, kCur | kAccess | kAlt | kMig | kRate},
       {0, kCur | kAccess | kAlt | kMig | kRnrTimer},
       {0, kRate}}}},
    {IBV_QPS_RTS,
     IBV_QPS_SQD,
     {{{0, kNotify}, {0, kNotify}, {0, kNotify}, {0, kNotify}, {0, kNotify}, {0, 0}}}},
    {IBV_QPS_SQD,
     IBV_QPS_RTS,
     {{{0, kCur | kAccess | kAlt | kMig | kRnrTimer},
       {0, kCur | kAccess | kAlt | kMig},
       {0, kCur | kQkey},
       {0, kCur | kAccess | kAlt | kMig},
       {0, kCur | kAccess | kAlt | kMig | kRnrTimer},
       {0, 0}}}},
    {IBV_QPS_SQD,
     IBV_QPS_SQD,
     {{{0,
        kPort | IBV_QP_AV | kRcRetry | IBV_QP_MAX_DEST_RD_ATOMIC | kAlt | kAccess | kPkey | kRnrTimer | kMig},
       {0, IBV_QP_AV | kAlt | kAccess | kPkey | kMig},
       {0, kPkey | kQkey},
       {0, kPort | IBV_QP_AV | kRcRetry | kAlt | kAccess | kPkey | kMig},
       {0, kPort | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_MAX_DEST_RD_ATOMIC | kAlt | kAccess | kPkey |
               kRnrTimer | kMig},
       {0, 0}}}},
    {IBV_QPS_SQE, IBV_QPS_RTS, {{{0, 0}, {0, kCur | kAccess}, {0, kCur | kQkey}, {0, 0}, {0, 0}, {0, 0}}}},
};

using Table = std::array<std::array<std::array<Transition, kQpStates>, kQpStates>, kTypes>;

constexpr Table make_table() {
  Table table{};
  for (std::size_t type = 0; type < kTypes; ++type) {
    for (auto& from : table[type]) from[IBV_QPS_RESET].valid = from[IBV_QPS_ERR].valid = true;
    for (const Row& row : kRows) {
      table[type][row.from][row.to] = {true, row.masks[type].required, row.masks[type].optional};
    }
  }
  for (std::size_t type = 0; type < kTypes; ++type) {
    if (kTypeOrder[type] != IBV_QPT_UC && kTypeOrder[type] != IBV_QPT_UD &&
        kTypeOrder[type] != IBV_QPT_RAW_PACKET)
      table[type][IBV_QPS_SQE][IBV_QPS_RTS].valid = false;
  }
  return table;
}

constexpr Table kTable = make_table();
constexpr Transition kNone{};

constexpr std::array<std::string_view, kQpStates> kNames = {"RESET", "INIT", "RTR", "RTS",
                                                            "SQD",   "SQE",  "ERR"};

bool in_range(ibv_qp_state state) { return static_cast<unsigned>(state) < kQpStates; }

}  // namespace

const Transition& transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  const auto found = std::find(kTypeOrder.begin(), kTypeOrder.end(), type);
  if (found == kTypeOrder.end() || !in_range(from) || !in_range(to)) return kNone;
  return kTable[static_cast<std::size_t>(found - kTypeOrder.begin())][from][to];
}

Expected<void, Failure> check_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to,
                                         std::uint32_t mask) {
  const Transition& rule = transition(type, from, to);
  if (!rule.valid) return Unexpected{refuse(EINVAL, ReasonId::bad_qp_transition, from, to)};
  const std::uint32_t missing = rule.required & ~mask;
  if (missing != 0)
    return Unexpected{refuse(EINVAL, ReasonId::missing_qp_attributes, mask, missing, from, to)};
  const std::uint32_t surplus = mask & ~(rule.required | rule.optional | IBV_QP_STATE);
  if (surplus != 0)
    return Unexpected{refuse(EINVAL, ReasonId::surplus_qp_attributes, mask, surplus, from, to)};
  return {};
}

// IBTA 10.3.1.1 – 10.3.1.7.
constexpr StateTable kStateRules = {{
    // sends  recvs  fl.snd fl.rcv hears
    {false, false, false, false, false},  // RESET
    {false, true, false, false, false},   // INIT
    {false, true, false, false, true},    // RTR
    {true, true, false, false, true},     // RTS
    {true, true, false, false, true},     // SQD
    {true, true, true, false, true},      // SQE
    {true, true, true, true, false},      // ERR
}};

std::string_view state_name(ibv_qp_state state) { return in_range(state) ? kNames[state] : "UNKNOWN"; }

}  // namespace softrnic::rnic
