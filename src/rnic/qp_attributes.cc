#include "rnic/qp_attributes.h"

#include <algorithm>
#include <cerrno>

#include "rnic/address_handle.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/rate_limit.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint8_t kMaxRetries = 7;
constexpr std::uint8_t kMaxTimerCode = 31;
constexpr std::uint32_t kAccessMask = 0xf | ib::kFlushGlobal | ib::kFlushPersistent;

template <typename... Figures>
Unexpected<Failure> no(ReasonId id, Figures... figures) {
  return Unexpected{refuse(EINVAL, id, figures...)};
}

/// An attribute with an upper bound.
struct Bound {
  std::uint32_t bit;
  std::uint8_t ibv_qp_attr::*value;
  std::uint8_t most;
};
constexpr Bound kBounds[] = {
    {IBV_QP_TIMEOUT, &ibv_qp_attr::timeout, kMaxTimerCode},
    {IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer, kMaxTimerCode},
    {IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic, limits::kMaxReadsPerQp},
    {IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic, limits::kMaxReadsPerQp},
};

Expected<void, Failure> check_values(const Context& context, const ibv_qp_attr& a, std::uint32_t mask) {
  for (const Bound& bound : kBounds) {
    if ((mask & bound.bit) != 0 && a.*bound.value > bound.most) {
      return no(ReasonId::bad_qp_attribute, bound.bit, a.*bound.value, bound.most);
    }
  }
  if ((mask & IBV_QP_PORT) != 0 && a.port_num != limits::kPorts) return no(ReasonId::bad_port, a.port_num);
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && a.pkey_index >= limits::kPkeys) {
    return no(ReasonId::bad_pkey_index, a.pkey_index, limits::kPkeys);
  }
  if ((mask & IBV_QP_DEST_QPN) != 0 && a.dest_qp_num > wire::kPsnMask) {
    return no(ReasonId::bad_dest_qpn, a.dest_qp_num);
  }
  if ((mask & IBV_QP_PATH_MTU) != 0) {
    if (a.path_mtu < IBV_MTU_256 || a.path_mtu > IBV_MTU_4096) {
      return no(ReasonId::bad_qp_attribute, IBV_QP_PATH_MTU, a.path_mtu, IBV_MTU_4096);
    }
    const std::uint32_t active = context.info()->port.active_mtu;
    if (mtu_bytes(a.path_mtu) > active) return no(ReasonId::mtu_too_large, mtu_bytes(a.path_mtu), active);
  }
  if ((mask & IBV_QP_RATE_LIMIT) != 0) {
    if (auto ok = RateLimit::check({.kilobits_per_second = a.rate_limit}); !ok) return ok;
  }
  const bool migrates = (mask & IBV_QP_PATH_MIG_STATE) != 0 && a.path_mig_state != IBV_MIG_MIGRATED;
  if (migrates || (mask & IBV_QP_ALT_PATH) != 0) {
    return Unexpected{
        refuse(EOPNOTSUPP, ReasonId::no_alternate_path, mask & (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE))};
  }
  return {};
}

/// Copies one attribute into both halves.
using Copy = void (*)(const ibv_qp_attr& from, QpAttributes& to);
struct CopyRow {
  std::uint32_t bit;
  Copy copy;
};

// fio and others ask for 10 retries; adapters have 3 bits for them. More than 7 means 7.
constexpr CopyRow kCopies[] = {
    {IBV_QP_PORT, [](auto& from, auto& to) { to.verbs.port_num = from.port_num; }},
    {IBV_QP_PKEY_INDEX, [](auto& from, auto& to) { to.verbs.pkey_index = from.pkey_index; }},
    {IBV_QP_QKEY, [](auto& from, auto& to) { to.transport.qkey = to.verbs.qkey = from.qkey; }},
    {IBV_QP_ACCESS_FLAGS,
     [](auto& from, auto& to) {
       to.verbs.qp_access_flags = from.qp_access_flags;
       to.transport.access = from.qp_access_flags & kAccessMask;
     }},
    {IBV_QP_PATH_MTU,
     [](auto& from, auto& to) {
       to.verbs.path_mtu = from.path_mtu;
       to.transport.path_mtu = mtu_bytes(from.path_mtu);
     }},
    {IBV_QP_DEST_QPN,
     [](auto& from, auto& to) {
       to.verbs.dest_qp_num = from.dest_qp_num;
       to.transport.remote = Qpn(from.dest_qp_num);
     }},
    {IBV_QP_RQ_PSN,
     [](auto& from, auto& to) { to.transport.receive_psn = to.verbs.rq_psn = from.rq_psn & wire::kPsnMask; }},
    {IBV_QP_SQ_PSN,
     [](auto& from, auto& to) { to.transport.send_psn = to.verbs.sq_psn = from.sq_psn & wire::kPsnMask; }},
    {IBV_QP_TIMEOUT, [](auto& from, auto& to) { to.transport.timeout = to.verbs.timeout = from.timeout; }},
    {IBV_QP_RETRY_CNT,
     [](auto& from, auto& to) {
       to.transport.retry_count = to.verbs.retry_cnt = std::min(from.retry_cnt, kMaxRetries);
     }},
    {IBV_QP_RNR_RETRY,
     [](auto& from, auto& to) {
       to.transport.rnr_retry = to.verbs.rnr_retry = std::min(from.rnr_retry, kMaxRetries);
     }},
    {IBV_QP_MIN_RNR_TIMER,
     [](auto& from, auto& to) { to.transport.min_rnr_timer = to.verbs.min_rnr_timer = from.min_rnr_timer; }},
    {IBV_QP_MAX_QP_RD_ATOMIC,
     [](auto& from, auto& to) { to.transport.max_reads_out = to.verbs.max_rd_atomic = from.max_rd_atomic; }},
    {IBV_QP_MAX_DEST_RD_ATOMIC,
     [](auto& from, auto& to) {
       to.transport.max_reads_in = to.verbs.max_dest_rd_atomic = from.max_dest_rd_atomic;
     }},
};

// Programs that address peers by LID (see lid.h) take the MTU of an InfiniBand port for granted. They get
// what the port has, as both ends of their path do.
ibv_qp_attr fit_mtu(const Context& context, const ibv_qp_attr& wanted, std::uint32_t mask) {
  constexpr std::uint32_t kBoth = IBV_QP_AV | IBV_QP_PATH_MTU;
  ibv_qp_attr fitted = wanted;
  if ((mask & kBoth) == kBoth && wanted.ah_attr.is_global == 0 && wanted.path_mtu <= IBV_MTU_4096)
    fitted.path_mtu = std::min(wanted.path_mtu, mtu_code(context.info()->port.active_mtu));
  return fitted;
}

}  // namespace

Expected<void, Failure> take_attributes(const Context& context, const ibv_qp_attr& asked, std::uint32_t mask,
                                        QpAttributes& attributes) {
  const ibv_qp_attr wanted = fit_mtu(context, asked, mask);
  if (auto ok = check_values(context, wanted, mask); !ok) return ok;
  if ((mask & IBV_QP_AV) != 0) {
    auto path = resolve_address(context, wanted.ah_attr);
    if (!path) return Unexpected{path.error()};
    attributes.verbs.ah_attr = wanted.ah_attr;
    attributes.transport.path = *path;
  }
  for (const CopyRow& row : kCopies) {
    if ((mask & row.bit) != 0) row.copy(wanted, attributes);
  }
  ib::Attributes& t = attributes.transport;
  t.path.source_port = source_port(t.path.flow_label, t.local, t.remote);
  return {};
}

}  // namespace softrnic::rnic
